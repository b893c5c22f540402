package io.sluice.flink;

/** Where a table's rows are, as far as a scan has to know. */
public enum TableKind {
  /** In the log, as long as retention lets them. */
  LOG,
  /** In the lake up to some offset of each bucket, from there on in the log. */
  LOG_WITH_LAKE,
  /** The newest of each key in the store, whether or not they flow on into the lake; their changes in the log. */
  PRIMARY_KEY
}
