package io.sluice.flink.source.scan;

import org.apache.flink.api.connector.source.SourceEvent;

/** Tells a reader that no split is meant for it, so that its silence need not hold back anyone's watermark. */
public final class NothingToRead implements SourceEvent {
  private static final long serialVersionUID = 1L;
}
