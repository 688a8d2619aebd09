import FleetDatabase

/// Why the database did not do what it was asked.
struct DatabaseError: Error, Hashable, Sendable, CustomStringConvertible {
    enum Kind: Hashable, Sendable {
        /// There was no connection to begin with.
        case noConnection
        /// The role lacks a right, or a function refused (`DL…`).
        case refused
        /// The same call may succeed later: a conflict, a server that stops, a time-out, a lost connection.
        case toRepeat
        case other
    }

    let kind: Kind
    /// The SQLSTATE; empty if no server said anything.
    let state: String
    let message: String

    init(_ kind: Kind, state: String = "", _ message: String) {
        (self.kind, self.state, self.message) = (kind, state, message)
    }

    /// - Parameter state: an SQLSTATE (PostgreSQL's manual, appendix A).
    init(state: String, message: String) { self.init(Self.kind(of: state), state: state, message) }

    /// The answer of a server.
    init(_ result: OpaquePointer) {
        func field(_ code: Int32) -> String? { PQresultErrorField(result, code).map { String(cString: $0) } }
        let whole = String(cString: PQresultErrorMessage(result))
        self.init(
            state: field(Int32(UInt8(ascii: "C"))) ?? "",
            message: field(Int32(UInt8(ascii: "M"))) ?? Self.line(whole))
    }

    var description: String { state.isEmpty ? message : "\(message) (\(state))" }

    /// libpq's sentences, which end lines and begin others, as one line.
    static func line(_ text: String) -> String { text.split { $0.isNewline || $0 == "\t" }.joined(separator: " ") }

    static func kind(of state: String) -> Kind {
        switch state {
        // query_canceled is statement_timeout; idle_in_transaction_session_timeout; lock_not_available
        case "57014", "25P03", "55P03": return .toRepeat
        // insufficient_privilege
        case "42501": return .refused
        default: break
        }
        if state.hasPrefix("DL") || state.hasPrefix("28") { return .refused }
        // Conflicts; operator intervention; connection exceptions; insufficient resources
        return ["40", "57P0", "08", "53"].contains(where: state.hasPrefix) || state.isEmpty ? .toRepeat : .other
    }
}
