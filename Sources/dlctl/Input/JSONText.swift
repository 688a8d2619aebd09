import TransferModel

/// JSON as text on the command line and back.
enum JSONText {
    static func value(_ text: String) -> JSONValue? {
        try? JSONCoding.decode(JSONValue.self, from: Array(text.utf8))
    }

    static func plain(_ value: JSONValue) -> String {
        value.stringValue ?? (try? Console.encode(value)) ?? "?"
    }

    /// Without a fraction if it is whole.
    static func number(_ value: Double) -> String {
        Int64(exactly: value).map(String.init) ?? "\(value)"
    }
}
