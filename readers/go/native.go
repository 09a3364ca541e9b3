// Package native reads the native filters of fullbloom: fast, compact and dynamic ones. One file, nothing but Go.
//
//	known, err := native.Open("names.bloom", nil)
//	known.MayContain([]byte("alice")) // false is certain, true is probable
//
// Written from docs/formats/native.md alone. A filter is not changed after it was read: several goroutines may use it.
package native

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math/bits"
	"os"
	"sort"
	"unicode/utf8"
)

const (
	mulP = 0x9e3779b97f4a7c15
	mulQ = 0xbf58476d1ce4e5b9
	mulR = 0x94d049bb133111eb

	secFilter, secBits, secLabel, secChecksums, secSecret   = 1, 2, 3, 4, 5
	secExceptions, secExceptionData, secCompact, secDynamic = 11, 12, 13, 14
	secKeyField                                             = 15
)

// ErrLocked says that the filter is keyed, and its secret is neither in the file nor given, or is another one.
var ErrLocked = errors.New("the filter is keyed: its secret of 16 bytes is needed")

// ErrKeyType says that the filter records keys of a type with other bytes: a lookup would always be answered no.
var ErrKeyType = errors.New("the filter has keys of another type")

// ErrForm says that the keys of the filter are in lower case, and this key has a capital sigma, whose lower case depends on
// the letters around it.
var ErrForm = errors.New("the keys of the filter are in lower case, and the key has a capital sigma: convert it first")

var le = binary.LittleEndian
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

type span struct{ at, len uint64 }

// Filter answers whether a key may be in a set.
type Filter struct {
	data              []byte
	sections          map[uint32]span
	head              []byte
	hash              func([]byte) uint64
	test              func(uint64) bool
	levels            []level
	list              span // of the exceptions: offset and number of hashes
	hasExceptions     bool
	keyType, hashBits byte
	lower, trim       bool
}

type level struct{ at, blocks, probes uint64 }

// Open reads and checks a whole file. The secret has 16 bytes, or is nil if none is needed.
func Open(path string, secret []byte) (*Filter, error) {
	if _, err := os.Stat(path + ".journal"); err == nil {
		return nil, fmt.Errorf("%s.journal has keys that this reader does not read: save the filter first", path)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return New(data, secret)
}

type formatError string

func require(holds bool, format string, values ...any) {
	if !holds {
		panic(formatError(fmt.Sprintf(format, values...)))
	}
}

// New makes a filter of bytes, all of them checked. They must not change afterwards.
func New(data, secret []byte) (filter *Filter, err error) {
	// A failed requirement ends up here; every other panic goes on.
	defer func() {
		if reason := recover(); reason != nil {
			what, isFormat := reason.(formatError)
			if !isFormat {
				panic(reason)
			}
			filter, err = nil, errors.New(string(what))
		}
	}()
	f := &Filter{data: data, sections: map[uint32]span{}}
	f.readFront()
	f.head = f.slice(secFilter)
	require(len(f.head) == 64, "the filter section has another length")
	layout, hashKind, flags := f.head[0], f.head[1], f.head[5]
	f.keyType, f.hashBits, f.lower, f.trim = f.head[6], f.head[7], flags&2 != 0, flags&4 != 0
	if layout == 4 {
		f.hashBits = 0
	}
	require(layout >= 2 && layout <= 4, "layout %d", layout)
	require(hashKind == 1 || hashKind == 2, "hash %d", hashKind)
	require(flags&^6 == 0, "flags %d", flags)
	require(f.keyType <= 4, "key type %d", f.keyType)
	require(f.hashBits == 0 || f.hashBits >= 10 && f.hashBits <= 63, "%d bits of the hash", f.hashBits)
	_, isCompact := f.sections[secCompact]
	_, isDynamic := f.sections[secDynamic]
	require(isCompact == (layout == 3) && isDynamic == (layout == 4), "sections of another kind of filter")
	seed := le.Uint64(f.head[16:])
	if hashKind == 1 {
		f.hash = fold64(seed)
	} else if f.hash, err = f.unlocked(secret, seed); err != nil {
		return nil, err
	}
	switch layout {
	case 2:
		f.test = f.lines()
	case 3:
		f.test = f.compact()
	default:
		f.test = f.dynamic()
	}
	_, hasSection := f.sections[secExceptions]
	_, hasData := f.sections[secExceptionData]
	if f.hasExceptions = hasSection || hasData; f.hasExceptions {
		require(layout != 4, "a dynamic filter with exceptions")
		f.readExceptions()
	}
	return f, nil
}

// MayContain says whether the filter may contain a key of bytes or text in UTF-8. False is certain.
func (f *Filter) MayContain(key []byte) (bool, error) {
	if f.keyType > 2 {
		return true, ErrKeyType
	}
	if f.trim {
		key = bytes.Trim(key, "\t\n\f\r ")
	}
	if f.lower {
		if bytes.ContainsRune(key, 'Σ') && utf8.Valid(key) {
			return true, ErrForm
		}
		key = lowered(key)
	}
	return f.ask(key), nil
}

// lowered is the key in lower case: by Unicode if it is UTF-8, else only its ASCII letters.
func lowered(key []byte) []byte {
	if utf8.Valid(key) {
		// Go maps letters one by one; this is the only one that becomes two.
		return bytes.ToLower(bytes.ReplaceAll(key, []byte("İ"), []byte("i\u0307")))
	}
	key = append([]byte(nil), key...)
	for i, b := range key {
		if b >= 'A' && b <= 'Z' {
			key[i] = b + 32
		}
	}
	return key
}

// MayContainInt is MayContain for an integer of any width; those above 2^63 - 1 are given as the negative ones of the same bits.
func (f *Filter) MayContainInt(key int64) (bool, error) {
	if f.keyType == 1 || f.keyType == 2 {
		return true, ErrKeyType
	}
	var b [8]byte
	le.PutUint64(b[:], uint64(key))
	return f.ask(b[:]), nil
}

// Label is the text that the writer stored; empty without one.
func (f *Filter) Label() string {
	if _, ok := f.sections[secLabel]; !ok {
		return ""
	}
	return string(f.slice(secLabel))
}

func (f *Filter) ask(key []byte) bool {
	h := f.hash(key)
	if f.hashBits != 0 {
		h = h >> (64 - f.hashBits) << (64 - f.hashBits)
		for i := 0; i < 2; i++ {
			h = (h ^ h>>32) * 0xd6e8feb86659fd93
		}
		h ^= h >> 32
	}
	return f.test(h) && !(f.hasExceptions && f.isException(h))
}

func fold(x, y uint64) uint64 {
	hi, lo := bits.Mul64(x, y)
	return hi ^ lo
}

func high(x, y uint64) uint64 {
	hi, _ := bits.Mul64(x, y)
	return hi
}

func fold64(seed uint64) func([]byte) uint64 {
	var s [4]uint64
	for i := range s {
		z := seed + uint64(i+1)*mulP
		z = (z ^ z>>30) * mulQ
		z = (z ^ z>>27) * mulR
		s[i] = z ^ z>>31
	}
	a, b, c, d := s[0], s[1], s[2], s[3]
	return func(key []byte) uint64 {
		n := len(key)
		w := b ^ uint64(n)*mulP
		var h uint64
		switch {
		case n == 0:
			h = fold(a, w)
		case n <= 3:
			h = fold((uint64(key[0])+uint64(key[n/2])<<8+uint64(key[n-1])<<16)^a, w)
		case n <= 8:
			h = fold((uint64(le.Uint32(key))+uint64(le.Uint32(key[n-4:]))<<32)^a, w)
		case n <= 16:
			h = fold(le.Uint64(key)^a, le.Uint64(key[n-8:])^w)
		default:
			last := key
			if n > 32 {
				u, v := w, d
				for i := 0; i+32 < n; i += 32 {
					u = fold(le.Uint64(key[i:])^a, le.Uint64(key[i+8:])^u)
					v = fold(le.Uint64(key[i+16:])^c, le.Uint64(key[i+24:])^v)
				}
				last, w = key[n-32:], u^v
			}
			t := fold(le.Uint64(last)^a, le.Uint64(last[8:])^w)
			h = fold(le.Uint64(key[n-16:])^c, le.Uint64(key[n-8:])^d^t)
		}
		return (h ^ h>>32) * mulP
	}
}

func siphash13(secret []byte) func([]byte) uint64 {
	k0, k1 := le.Uint64(secret), le.Uint64(secret[8:])
	return func(key []byte) uint64 {
		v0, v1, v2, v3 := k0^0x736f6d6570736575, k1^0x646f72616e646f6d, k0^0x6c7967656e657261, k1^0x7465646279746573
		round := func() {
			v0 += v1
			v1 = bits.RotateLeft64(v1, 13) ^ v0
			v0 = bits.RotateLeft64(v0, 32)
			v2 += v3
			v3 = bits.RotateLeft64(v3, 16) ^ v2
			v0 += v3
			v3 = bits.RotateLeft64(v3, 21) ^ v0
			v2 += v1
			v1 = bits.RotateLeft64(v1, 17) ^ v2
			v2 = bits.RotateLeft64(v2, 32)
		}
		padded := make([]byte, len(key)/8*8+8)
		copy(padded, key)
		padded[len(padded)-1] = byte(len(key))
		for ; len(padded) > 0; padded = padded[8:] {
			word := le.Uint64(padded)
			v3 ^= word
			round()
			v0 ^= word
		}
		v2 ^= 255
		round()
		round()
		round()
		return v0 ^ v1 ^ v2 ^ v3
	}
}

func (f *Filter) unlocked(secret []byte, checkValue uint64) (func([]byte) uint64, error) {
	if _, isStored := f.sections[secSecret]; secret == nil && isStored {
		secret = f.slice(secSecret)
	}
	if len(secret) != 16 {
		return nil, ErrLocked
	}
	hash := siphash13(secret)
	var derived [16]byte
	le.PutUint64(derived[:], hash([]byte{1, 0}))
	le.PutUint64(derived[8:], hash([]byte{1, 1}))
	if siphash13(derived[:])([]byte("fullbloom native: is this the secret?")) != checkValue {
		return nil, fmt.Errorf("another secret is given: %w", ErrLocked)
	}
	return hash, nil
}

// lines is the test of a fast filter: all bits of a key are in one to four lines.
func (f *Filter) lines() func(uint64) bool {
	array, lines, group, probes, blocks := f.section(secBits), uint64(f.head[2]), uint64(f.head[3]), uint64(f.head[4]), le.Uint64(f.head[8:])
	require(lines == 1 || lines == 2 || lines == 4, "lines per key: %d", lines)
	require(lines == 1 && group == 1 || lines > 1 && group >= lines && group <= 64 && group&(group-1) == 0, "lines in a block: %d", group)
	require(probes >= 1 && probes <= 8, "probes: %d", probes)
	require(blocks >= 1 && blocks <= uint64(len(f.data)) && array.len == blocks*group*64, "the array has another length than its blocks")
	return func(h uint64) bool { return linesTest(f.data[array.at:], blocks, group, lines, probes, h) }
}

// linesTest says whether all bits of a hash are set in an array.
func linesTest(array []byte, blocks, group, lines, probes, h uint64) bool {
	x1 := h * mulP
	x2 := (x1 ^ x1>>32) * mulQ
	first, part := high(x1, blocks)*group, group/lines
	a, b, x := h, x1, x2
	for i := uint64(0); i < lines; i++ {
		line := array[64*(first+i*part+x2>>(58-6*i)&(part-1)):]
		if i > 0 {
			a, b = x, (x^x>>32)*mulP
			x = b
		}
		fields, start := bits.RotateLeft64(a, 32)^b, b>>5&7
		for k := start; k < start+probes; k++ {
			lane := k & 7
			field := fields >> (8 * lane) & 255
			bit, word := 31-field&31, lane+field>>7*8
			if line[4*word+bit>>3]>>(bit&7)&1 == 0 {
				return false
			}
		}
	}
	return true
}

func (f *Filter) readExceptions() {
	section, array := f.slice(secExceptions), f.section(secExceptionData)
	require(len(section) >= 16, "the exceptions section is too short")
	count, listed, end := le.Uint64(section), le.Uint64(section[8:]), array.at+array.len
	require(count <= 64 && uint64(len(section)) == 16+16*count, "%d levels of exceptions", count)
	at := array.at
	for entry := section[16:]; len(entry) > 0; entry = entry[16:] {
		l := level{at, le.Uint64(entry), le.Uint64(entry[8:])}
		require(l.blocks >= 1 && l.blocks <= (end-at)/64 && l.probes >= 1 && l.probes <= 8, "a level of exceptions has impossible numbers")
		f.levels = append(f.levels, l)
		at += 64 * l.blocks
	}
	require(listed <= uint64(len(f.data)) && end-at == 8*listed, "the exceptions have another length")
	f.list = span{at, listed}
}

// isException says whether a key whose bits are all set is a known-good one.
func (f *Filter) isException(h uint64) bool {
	for i, l := range f.levels {
		x := h + uint64(i+1)*mulP
		x = (x ^ x>>32) * mulQ
		x = (x ^ x>>29) * mulR
		if !linesTest(f.data[l.at:], l.blocks, 1, 1, l.probes, x^x>>32) {
			return i%2 == 1
		}
	}
	return f.inList(f.list, h, 0) == (len(f.levels)%2 == 0)
}

// inList says whether a number is in an ascending list of words, of which the lowest bits are left out.
func (f *Filter) inList(list span, number uint64, dropped uint) bool {
	word := func(i int) uint64 { return le.Uint64(f.data[list.at+8*uint64(i):]) >> dropped }
	i := sort.Search(int(list.len), func(i int) bool { return word(i) >= number })
	return i < int(list.len) && word(i) == number
}

type layer struct{ at, lines, split uint64 }

// compact is the test of a compact filter: layers of lines, each a system of linear equations, and a list.
func (f *Filter) compact() func(uint64) bool {
	array, section, width, further := f.section(secBits), f.slice(secCompact), uint64(f.head[2]), uint64(f.head[3])
	require((width == 1 || width == 2 || width == 4 || width == 8) && f.head[4] == 0, "columns of %d parts", width)
	require(8/width+further+1 <= 65, "%d further columns", further)
	inAll := le.Uint64(f.head[8:])
	require(inAll <= uint64(len(f.data)) && array.len == inAll*64, "the array has another length than its lines")
	require(len(section) >= 8 && len(section) <= 8+20*16 && len(section)%16 == 8, "the compact section has another length")
	at, end, listed := array.at, array.at+array.len, le.Uint64(section)
	var layers []layer
	for entry := section[8:]; len(entry) > 0; entry = entry[16:] {
		l := layer{at, le.Uint64(entry), le.Uint64(entry[8:])}
		require(l.lines >= 1 && l.lines < 1<<32 && l.split <= 256*l.lines, "a layer has impossible numbers")
		short, most := l.split>>8, further // lines with one column less
		if short < l.lines {
			most++
		}
		require(8+most*width <= 64, "%d further columns of %d parts", further, width)
		layers = append(layers, l)
		at += (l.lines*64 + (l.lines*(further+1)-short)*width*8 + 63) &^ 63
		require(at <= end, "the layers are longer than the array")
	}
	require(listed <= uint64(len(f.data)) && end-at == (listed*8+63)&^63, "the layers and the list have another length than the array")
	list := span{at, listed}
	return func(h uint64) bool {
		t := (h ^ h>>32) * mulQ
		u := (t ^ t>>29) * mulR
		z := h
		for i, l := range layers {
			if i == 1 {
				z = (t ^ t>>32) * mulP
			} else if i > 1 {
				z = (z ^ z>>32) * mulQ
			}
			hi, lo := bits.Mul64(z, l.lines)
			x := hi<<32 | lo>>32
			priority := x >> 24 & 255
			if priority == 255 {
				priority = 254
			}
			if priority < uint64(f.data[l.at+64*(x>>32)+63]) {
				return f.agrees(l, width, further, x, t, u&^255|x>>16&255)
			}
		}
		return f.inList(list, h, 0)
	}
}

// agrees says whether the sum of the chosen slots is the fingerprint in every column.
func (f *Filter) agrees(l layer, width, further, x, t, fingerprint uint64) bool {
	var parts, slots [8]uint64
	var sums [8]byte
	choices, line := 8, x>>32
	if width <= 2 {
		choices = 6
	}
	for i := 0; i < choices; i++ {
		slots[i] = t >> (8 * i) & 63
		switch width {
		case 1:
			if i < 4 {
				slots[i] = uint64(16*i) + slots[i]&15
			}
		case 2:
			parts[i] = uint64(i / 3)
		case 4:
			parts[i] = uint64(i / 2)
		default:
			parts[i] = uint64(i)
		}
		sums[parts[i]] ^= f.data[l.at+64*line+slots[i]]
	}
	for first := uint64(0); first < 8; first += width {
		var sum byte
		for part := uint64(0); part < width; part++ {
			sum ^= sums[part] >> (first + part)
		}
		if uint64(sum&1) != fingerprint>>first&1 {
			return false
		}
	}
	columns, before := further, line*(further+1)-line
	if short := l.split >> 8; line > short {
		before = line*(further+1) - short
	}
	if x>>24 >= l.split {
		columns++
	}
	for column := uint64(0); column < columns; column++ {
		words := f.data[l.at+64*l.lines+(before+column)*width*8:]
		var sum byte
		for i := 0; i < choices; i++ {
			sum ^= words[8*parts[i]+slots[i]>>3] >> (slots[i] & 7)
		}
		if uint64(sum&1) != fingerprint>>(8+column*width)&1 {
			return false
		}
	}
	return true
}

type shape struct {
	lines, quotients uint64
	r, slots         uint
}

// dynamic is the test of a dynamic filter: the fingerprints of its keys, in lines, overflow lines and a list.
func (f *Filter) dynamic() func(uint64) bool {
	array, section, width, mode, lines := f.section(secBits), f.slice(secDynamic), uint(f.head[2]), f.head[3], le.Uint64(f.head[8:])
	require(mode <= 3 && f.head[4] == 0, "mode %d", mode)
	require(len(section) == 16 || mode >= 2 && len(section) >= 48, "the dynamic section has another length")
	items, counts, tag := le.Uint64(section), le.Uint64(section[8:]), uint(mode)*2
	if mode >= 2 {
		require(len(section) >= 48, "the dynamic section is too short")
		generations := le.Uint32(section[24:])
		require(generations >= 1 && generations <= 200 && len(section) == 48+8*(int(generations)+1), "%d generations", generations)
		tag = uint(bits.Len32(generations + 2 + generations/4 - 1))
	}
	total := uint64(len(f.data))
	require(width >= 10 && width+tag <= 62, "fingerprints of %d bits", width)
	require(lines >= 16 && lines%16 == 0 && lines <= 1<<width && lines <= total, "%d lines", lines)
	require(items <= total && counts <= total && array.len == (lines+lines/16)*64+8*items+16*counts, "the array has another length")
	tables := [2]shape{shapeOf(lines, width, tag), shapeOf(lines/16, width, tag)}
	return func(h uint64) bool {
		fingerprint, at := h>>(64-width), array.at
		for _, s := range tables {
			// fingerprint * lines is line * 2^width + rest; the distance from the first of the line is rest / lines.
			hi, lo := bits.Mul64(fingerprint, s.lines)
			line, number := hi<<(64-width)|lo>>width, lo&(1<<width-1)/s.lines
			found, isFull := lineTest(f.data[at+64*line:], number, s, tag)
			if found || !isFull {
				return found
			}
			at += 64 * s.lines
		}
		return f.inList(span{at, items}, fingerprint, tag)
	}
}

// shapeOf finds the remainder bits, slots and quotients of each of so many lines.
func shapeOf(lines uint64, width, tag uint) shape {
	best, size := shape{lines: lines}, (1<<width+lines-1)/lines
	for r := uint(1); r <= 56-tag; r++ {
		quotients, w, slots := (size-1)>>r+1, r+tag, uint(62)
		if quotients > 64 {
			continue
		}
		for slots > 0 && (slots*w+uint(quotients) > (512-slots)/8*8 || (slots-1)*w > 455) {
			slots--
		}
		if slots > best.slots {
			best = shape{lines, quotients, r, slots}
		}
	}
	require(best.slots > 0, "%d lines have no slots", lines)
	return best
}

// lineTest says whether a line has the number, and whether all its slots are used.
func lineTest(line []byte, number uint64, s shape, tag uint) (found, isFull bool) {
	bit := func(i uint) bool { return line[i>>3]>>(i&7)&1 != 0 }
	quotients := (512-s.slots)/8*8 - uint(s.quotients)
	starts := 511 - s.slots // bit i from here: slot i is the first of its quotient, or the end
	isFull = bit(starts + s.slots)
	quotient, slot := uint(number>>s.r), uint(0)
	if !bit(quotients + quotient) {
		return false, isFull
	}
	for q := uint(0); q < quotient; q++ {
		if bit(quotients + q) {
			for slot++; slot < s.slots && !bit(starts+slot); {
				slot++
			}
		}
	}
	for slot < s.slots {
		remainder := uint64(0)
		for i := s.r; i > 0; i-- {
			remainder <<= 1
			if bit(slot*(s.r+tag) + tag + i - 1) {
				remainder |= 1
			}
		}
		if remainder == number&(1<<s.r-1) {
			return true, isFull
		}
		if slot++; bit(starts + slot) {
			return false, isFull
		}
	}
	return true, isFull // the line contradicts itself, which its checksum excludes
}

func (f *Filter) readFront() {
	d, total := f.data, uint64(len(f.data))
	require(total >= 64 && string(d[:8]) == "\x89FBLOOM\n", "not a native filter")
	version, count, front, chunk := le.Uint16(d[12:]), uint64(le.Uint16(d[14:])), uint64(le.Uint32(d[16:])), uint64(le.Uint32(d[20:]))
	require(version == 1, "version %d", version)
	require(count <= 64, "%d sections", count)
	require(front%64 == 0 && 64+32*count <= front && front <= total, "a front of %d bytes", front)
	require(crc32.Checksum(d[12:front], castagnoli) == le.Uint32(d[8:]), "the front is damaged")
	require(chunk >= 64 && chunk&(chunk-1) == 0, "chunks of %d bytes", chunk)
	require(le.Uint64(d[24:]) == total, "%d of %d bytes", total, le.Uint64(d[24:]))
	require(le.Uint64(d[32:]) == 0, "a required feature is unknown")
	end := 64 + 32*count
	for at := uint64(64); at < 64+32*count; at += 32 {
		kind, flags, offset, size := le.Uint32(d[at:]), le.Uint32(d[at+4:]), le.Uint64(d[at+8:]), le.Uint64(d[at+16:])
		require(offset >= end && offset <= total && size <= total-offset, "section %d is not in the file", kind)
		end = offset + size
		known := kind >= secFilter && kind <= secSecret || kind >= secExceptions && kind <= secKeyField
		require(known || flags&1 == 0 && !(kind >= 6 && kind <= 10), "section %d is unknown", kind)
		inPlace := end <= front
		if kind == secBits || kind == secExceptionData {
			inPlace = offset >= front && offset%64 == 0
		}
		require(!known || inPlace, "section %d is in another place", kind)
		_, isThere := f.sections[kind]
		require(!isThere, "section %d is there twice", kind)
		f.sections[kind] = span{offset, size}
	}
	sums := f.slice(secChecksums)
	require(uint64(len(sums)) == (total-front+chunk-1)/chunk*4, "the checksums have another length")
	for data := d[front:]; len(data) > 0; sums = sums[4:] {
		part := data
		if uint64(len(part)) > chunk {
			part = part[:chunk]
		}
		require(crc32.Checksum(part, castagnoli) == le.Uint32(sums), "the data are damaged")
		data = data[len(part):]
	}
}

func (f *Filter) section(kind uint32) span {
	s, ok := f.sections[kind]
	require(ok, "section %d is missing", kind)
	return s
}

func (f *Filter) slice(kind uint32) []byte {
	s := f.section(kind)
	return f.data[s.at : s.at+s.len]
}
