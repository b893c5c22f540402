package io.sluice.flink.tiering;

/** What the lake does not have of one bucket. */
final class BucketWork {
  private final String bucket;
  private final long rows;
  private final long end;
  private final String json;

  /**
   * @param bucket tells it from the table's others
   * @param rows how far the lake lags, in offsets
   * @param end the end (exclusive) of its log
   * @param json the whole as the store told it
   */
  BucketWork(String bucket, long rows, long end, String json) {
    this.bucket = bucket;
    this.rows = rows;
    this.end = end;
    this.json = json;
  }

  String bucket() {
    return bucket;
  }

  long rows() {
    return rows;
  }

  long end() {
    return end;
  }

  String json() {
    return json;
  }
}
