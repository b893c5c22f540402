package io.sluice.store;

import java.util.Map;

/** The little JSON that this package itself has to write. */
final class Json {
  private Json() {}

  /** Returns an object of strings. */
  static String object(Map<String, String> members) {
    StringBuilder out = new StringBuilder("{");
    for (Map.Entry<String, String> member : members.entrySet()) {
      if (out.length() > 1) {
        out.append(',');
      }
      string(out, member.getKey());
      out.append(':');
      if (member.getValue() == null) {
        out.append("null");
      } else {
        string(out, member.getValue());
      }
    }
    return out.append('}').toString();
  }

  private static void string(StringBuilder out, String text) {
    out.append('"');
    for (int i = 0; i < text.length(); i++) {
      char c = text.charAt(i);
      if (c == '"' || c == '\\') {
        out.append('\\').append(c);
      } else if (c < ' ') {
        out.append(String.format("\\u%04x", (int) c));
      } else {
        out.append(c);
      }
    }
    out.append('"');
  }
}
