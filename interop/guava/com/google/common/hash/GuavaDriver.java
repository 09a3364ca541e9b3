package com.google.common.hash;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;

/** This class is in Guava's package because only there a filter's strategy can be chosen. */
public final class GuavaDriver {
  private GuavaDriver() {}

  private static BloomFilter<byte[]> create(long expectedKeys, double rate, String dialect) {
    BloomFilterStrategies strategy = dialect.equals("guava-32")
        ? BloomFilterStrategies.MURMUR128_MITZ_32
        : BloomFilterStrategies.MURMUR128_MITZ_64;
    return BloomFilter.create(Funnels.byteArrayFunnel(), expectedKeys, rate, strategy);
  }

  /** The bytes of the filter of these keys. */
  public static byte[] bytes(Iterable<byte[]> keys, long expectedKeys, double rate, String dialect) throws Exception {
    BloomFilter<byte[]> filter = create(expectedKeys, rate, dialect);
    keys.forEach(filter::put);
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    filter.writeTo(out);
    return out.toByteArray();
  }

  /** Guava's answers from these bytes, as zeros and ones. */
  public static String answers(byte[] bytes, Iterable<byte[]> keys) throws Exception {
    BloomFilter<byte[]> filter = BloomFilter.readFrom(new ByteArrayInputStream(bytes), Funnels.byteArrayFunnel());
    StringBuilder answers = new StringBuilder();
    keys.forEach(key -> answers.append(filter.mightContain(key) ? '1' : '0'));
    return answers.toString();
  }

  /** Whether Guava refuses these bytes. */
  public static boolean refuses(byte[] bytes) {
    try {
      BloomFilter.readFrom(new ByteArrayInputStream(bytes), Funnels.byteArrayFunnel());
      return false;
    } catch (Exception e) {
      return true;
    }
  }
}
