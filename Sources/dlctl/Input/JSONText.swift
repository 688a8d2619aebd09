import TransferModel

/// Converts JSON to text on the command line and back.
enum JSONText {
    static func value(_ text: String) -> JSONValue? {
        try? JSONCoding.decode(JSONValue.self, from: Array(text.utf8))
    }

    static func plain(_ value: JSONValue) -> String {
        value.stringValue ?? Console.encode(value)
    }

    /// Omits the fraction of a whole number.
    static func number(_ value: Double) -> String {
        Int64(exactly: value).map(String.init) ?? "\(value)"
    }
}
