import TransferModel

/// An error answer of JSON-RPC 2.0 (section 5.1), with the `data` of this protocol.
package struct RPCError: Error, Hashable, Sendable {
    /// The integer code of JSON-RPC.
    package var code: Int
    package var message: String
    /// The stable name of the cause; `data.code`.
    package var cause: String
    package var retryable: Bool
    /// The JSON text of the object `data.details`.
    package var details: [UInt8]

    package init(
        code: Int, message: String, cause: String, retryable: Bool = false, details: [UInt8] = Array("{}".utf8)
    ) {
        self.code = code
        self.message = message
        self.cause = cause
        self.retryable = retryable
        self.details = details
    }

    /// The line is not JSON, or nested too deeply.
    package static func unparsable(_ why: String) -> RPCError {
        RPCError(code: -32700, message: "This line cannot be read: \(why).", cause: "rpc.malformed")
    }

    /// The line is JSON, but not a request.
    package static func invalidRequest(_ why: String) -> RPCError {
        RPCError(code: -32600, message: "This is not a JSON-RPC 2.0 request: \(why).", cause: "rpc.malformed")
    }

    package static func tooLarge(_ message: String) -> RPCError {
        RPCError(code: ErrorCode.tooLarge.rpcCode, message: message, cause: ErrorCode.tooLarge.rawValue)
    }

    package static func limitReached(_ message: String) -> RPCError {
        RPCError(
            code: ErrorCode.limitReached.rpcCode, message: message, cause: ErrorCode.limitReached.rawValue,
            retryable: true)
    }
}
