import TransferModel

/// One request, with its parameters still as text.
package struct RPCRequest: Sendable, Equatable {
    /// The JSON text of the id, unchanged; nil for a notification, which gets no answer.
    package var id: [UInt8]?
    package var method: String
    /// The JSON text of an object or array; nil if absent.
    package var parameters: [UInt8]?

    package init(id: [UInt8]?, method: String, parameters: [UInt8]?) {
        self.id = id
        self.method = method
        self.parameters = parameters
    }
}

/// The content of one line. Each entry is a request, or the error that answers an invalid one.
package struct RPCLine: Sendable {
    package enum Entry: Sendable, Equatable {
        case request(RPCRequest)
        case invalid(id: [UInt8]?, RPCError)
    }

    package var entries: [Entry]
    /// Answers to a batch go into one array (JSON-RPC 2.0 section 6).
    package var isBatch: Bool

    /// The longest id that is echoed.
    package static let idLimit = 1024

    /// - Parameter batchLimit: the most requests in one line.
    /// - Throws: `RPCError` if the whole line is unacceptable.
    package init(_ line: [UInt8], batchLimit: Int) throws(RPCError) {
        guard String(validating: line, as: UTF8.self) != nil else { throw .unparsable("it is not UTF-8") }
        let root: JSONNode
        do throws(JSONTape.Invalid) {
            root = try JSONTape(line).root
        } catch {
            throw .unparsable("\(error.reason), at byte \(error.offset)")
        }
        switch root.kind {
        case .null, .yes, .no, .number, .string: throw .invalidRequest("it is neither an object nor an array")
        case .object:
            isBatch = false
            entries = [Self.entry(root)]
        case .array:
            isBatch = true
            guard root.count > 0 else { throw .invalidRequest("the batch is empty") }
            guard root.count <= batchLimit else {
                throw .tooLarge("A batch holds at most \(batchLimit) requests; send several.")
            }
            entries = ((try? root.elements()) ?? []).map(Self.entry)
        }
    }

    private static func entry(_ node: JSONNode) -> Entry {
        guard let members = try? node.members() else {
            return .invalid(id: nil, .invalidRequest("a batch holds objects only"))
        }
        var id: [UInt8]?
        var version: String?
        var method: String?
        var parameters: JSONNode?
        var names: Set<String> = []
        for (member, value) in members {
            let name = member.stringIfAny
            if let name, !names.insert(name).inserted {
                let isID = name == "id"
                return .invalid(
                    id: isID ? nil : id, .invalidRequest("`\(name.prefix(40))` is there twice; say it once"))
            }
            switch name {
            case "id": id = Array(value.text)
            case "jsonrpc": version = value.stringIfAny
            case "method": method = value.stringIfAny
            case "params": parameters = value
            default: break
            }
        }
        if let given = id, !isAcceptableID(given) {
            return .invalid(
                id: nil, .invalidRequest("`id` is a whole number, a string or null, of at most \(idLimit) bytes"))
        }
        guard version == "2.0" else { return .invalid(id: id, .invalidRequest("`jsonrpc` must be \"2.0\"")) }
        guard let method else { return .invalid(id: id, .invalidRequest("`method` must be a string")) }
        if let parameters, parameters.kind != .object, parameters.kind != .array {
            return .invalid(id: id, .invalidRequest("`params` must be an object"))
        }
        return .request(RPCRequest(id: id, method: method, parameters: parameters.map { Array($0.text) }))
    }

    private static func isAcceptableID(_ id: [UInt8]) -> Bool {
        guard let first = id.first, id.count <= idLimit else { return false }
        switch first {
        case UInt8(ascii: "\""), UInt8(ascii: "n"): return true
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
            return id.allSatisfy { $0 == UInt8(ascii: "-") || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        default: return false
        }
    }
}

/// Reads and writes the envelopes of JSON-RPC as text.
package enum RPCText {
    /// `{"jsonrpc":"2.0","id":…,"result":…}`, without the LF.
    package static func answer(id: [UInt8]?, result: [UInt8]) -> [UInt8] {
        head(id) + Array(",\"result\":".utf8) + result + [UInt8(ascii: "}")]
    }

    /// `{"jsonrpc":"2.0","id":…,"error":{…}}`, without the LF.
    package static func answer(id: [UInt8]?, error: RPCError) -> [UInt8] {
        var bytes = head(id) + Array(",\"error\":{\"code\":\(error.code),\"message\":".utf8)
        bytes += quoted(error.message)
        bytes += Array(",\"data\":{\"code\":".utf8)
        bytes += quoted(error.cause)
        bytes += Array(",\"retryable\":\(error.retryable),\"details\":".utf8)
        bytes += error.details
        bytes += Array("}}}".utf8)
        return bytes
    }

    /// The same with the JSON text of an `error` object, as another server gave it.
    package static func answer(id: [UInt8]?, errorText: [UInt8]) -> [UInt8] {
        head(id) + Array(",\"error\":".utf8) + errorText + [UInt8(ascii: "}")]
    }

    /// A request, without the LF.
    package static func request(id: Int64, method: String, parameters: [UInt8]) -> [UInt8] {
        Array("{\"jsonrpc\":\"2.0\",\"id\":\(id),\"method\":".utf8) + quoted(method)
            + Array(",\"params\":".utf8) + parameters + [UInt8(ascii: "}")]
    }

    private static func quoted(_ text: String) -> [UInt8] {
        var bytes: [UInt8] = []
        JSONEscape.quote(text, into: &bytes)
        return bytes
    }

    private static func head(_ id: [UInt8]?) -> [UInt8] {
        Array("{\"jsonrpc\":\"2.0\",\"id\":".utf8) + (id ?? Array("null".utf8))
    }
}
