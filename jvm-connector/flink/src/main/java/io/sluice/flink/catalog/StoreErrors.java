package io.sluice.flink.catalog;

import java.util.Locale;

import io.sluice.store.ErrorKind;
import io.sluice.store.StoreException;
import io.sluice.store.Subject;
import org.apache.flink.table.catalog.exceptions.CatalogException;

/**
 * The store's errors as Flink's. Where Flink has a checked exception for one, the catalog's methods throw that; this class decides
 * the rest. The store's own exception is kept as a suppressed one and not as the cause, for the SQL client shows the innermost
 * cause only.
 */
final class StoreErrors {
  private StoreErrors() {}

  static boolean is(StoreException e, ErrorKind kind, Subject subject) {
    return e.kind() == kind && e.subject() == subject;
  }

  /** Returns the unchecked exception with the store's sentence: {@code UnsupportedOperationException} for what it cannot do. */
  static RuntimeException of(StoreException e) {
    String sentence = sentence(e.getMessage());
    switch (e.kind()) {
      case UNSUPPORTED:
        return keeping(new UnsupportedOperationException(sentence), e);
      case INTERNAL:
        return new CatalogException(sentence, e);
      default:
        return keeping(new CatalogException(sentence), e);
    }
  }

  /** Returns a message of the store as a sentence of its own: with a capital and a full stop. */
  static String sentence(String message) {
    if (message == null || message.isEmpty()) {
      return "The store gave no reason.";
    }
    String capital = message.substring(0, 1).toUpperCase(Locale.ROOT) + message.substring(1);
    return message.endsWith(".") || message.endsWith("?") ? capital : capital + ".";
  }

  static <E extends Exception> E keeping(E exception, StoreException store) {
    exception.addSuppressed(store);
    return exception;
  }
}
