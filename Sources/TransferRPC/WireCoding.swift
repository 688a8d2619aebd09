import TransferModel

/// How all values are converted to JSON text and back.
public enum WireCoding {
    /// Compact, members in the order of the reference.
    public static func encode(_ value: some WireValue) -> [UInt8] { JSONCoding.encode(value) }

    /// Decodes leniently: members that a newer daemon added are ignored.
    public static func decode<T: WireValue>(_: T.Type, from text: [UInt8]) throws(TransferError) -> T {
        try JSONCoding.decode(T.self, from: text, lenient: true)
    }

    /// Decodes a method's parameters; unknown members are refused by name.
    /// - Throws: `TransferError` `request.unknown_field` or `request.bad_field`.
    public static func parameters<M: RPCMethod>(of _: M.Type, from text: [UInt8]) throws(TransferError) -> M.Parameters
    {
        try JSONCoding.decode(M.Parameters.self, from: text)
    }

    /// The error in an answer's `error` object; a code that this client does not know becomes `internal` and is kept in
    /// the details.
    public static func error(from text: [UInt8]) -> TransferError {
        guard let object = try? decode(JSONValue.self, from: text) else {
            return TransferError(.internal, "The daemon refused without saying why.")
        }
        let message = object["message"]?.stringValue ?? "The daemon refused without saying why."
        let data = object["data"]
        let name = data?["code"]?.stringValue ?? ""
        var details: [String: JSONValue] = [:]
        if case .object(let given)? = data?["details"] { details = given }
        guard let code = ErrorCode(rawValue: name) else {
            details["code"] = .string(name)
            return TransferError(.internal, message, retryable: data?["retryable"]?.boolValue, details: details)
        }
        return TransferError(code, message, retryable: data?["retryable"]?.boolValue, details: details)
    }
}
