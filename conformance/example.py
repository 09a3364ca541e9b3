"""A complete adapter: reads LevelDB's filters with nothing but Python."""
import json, sys

def hash32(key, m=0xC6A4A793):
    h, end = 0xBC9F1D34 ^ len(key) * m & 0xFFFFFFFF, len(key) & ~3
    for at in range(0, end, 4):
        h = (h + int.from_bytes(key[at:at + 4], "little")) * m & 0xFFFFFFFF
        h ^= h >> 16
    if key[end:]:
        h = (h + int.from_bytes(key[end:], "little")) * m & 0xFFFFFFFF
        h ^= h >> 24
    return h

def may_contain(filter, key):
    h, bits, probes = hash32(key), 8 * (len(filter) - 1), filter[-1]
    step = h >> 17 | h << 15 & 0xFFFFFFFF
    places = [(h + i * step) % 2**32 % bits for i in range(probes)]
    return int(probes > 30 or all(filter[x // 8] >> x % 8 & 1 for x in places))

print(json.dumps({"name": "example", "version": "1", "systems": ["leveldb"]}), flush=True)
for line in sys.stdin:
    request = json.loads(line)
    try:
        filter = open(request["file"], "rb").read()
        if len(filter) < 2:
            raise ValueError("the filter is cut off")
        reply = {"answers": [may_contain(filter, bytes.fromhex(key)) for key in request["keys"]]}
    except Exception as error:
        reply = {"error": str(error)}
    print(json.dumps(reply), flush=True)
