import FoundationEssentials
import Glibc
import JSONRPC
import TransferModel

/// Answers `dlctl web` on a Unix socket that only the program's own user reaches: makes links to sign in, and lists and ends
/// sessions.
struct ControlSocket: RequestHandler {
    static let name = "web.sock"

    let signIn: SignIn
    /// Such as `http://127.0.0.1:8353/`.
    let base: String

    func closed(_ connection: RPCConnection) {}

    func answer(_ request: RPCRequest, from connection: RPCConnection) async -> RPCAnswer {
        guard connection.peer.uid == geteuid() else {
            return RPCAnswer(.failure(Self.error(.permissionDenied, "This dld-web belongs to another user.")))
        }
        let parameters =
            (try? JSONCoding.decode(JSONValue.self, from: request.parameters ?? Array("{}".utf8), lenient: true)) ?? [:]
        switch request.method {
        case "web.link":
            let place = parameters["fragment"]?.stringValue ?? ""
            let fragment = place.isEmpty || place.hasPrefix("#") ? place : "#" + place
            let end = Timestamp(milliseconds: Timestamp.now().rawValue + SignIn.keyLifetime.components.seconds * 1000)
            return Self.result([
                "url": .string("\(base)login?key=\(signIn.makeKey())\(fragment)"),
                "expiresAt": .string("\(end)"),
            ])
        case "web.sessions":
            let sessions = signIn.sessions.map { session -> JSONValue in
                [
                    "id": .string(session.id), "createdAt": .string(Self.text(session.createdAt)),
                    "lastUsedAt": .string(Self.text(session.lastUsedAt)),
                ]
            }
            return Self.result(["sessions": .array(sessions)])
        case "web.revoke":
            guard let session = parameters["session"]?.stringValue else {
                return RPCAnswer(.failure(Self.error(.badField, "session: give `all`, or the id of a session.")))
            }
            guard let revoked = signIn.revoke(session == "all" ? nil : session) else {
                return RPCAnswer(
                    .failure(
                        Self.error(
                            .diskIO,
                            "The sessions have ended, but that cannot be stored: after a restart they would live again."
                        )))
            }
            return Self.result(["revoked": .integer(Int64(revoked))])
        default: return RPCAnswer(.failure(Self.error(.rpcUnknownMethod, "There is no such method.")))
        }
    }

    private static func result(_ value: JSONValue) -> RPCAnswer { RPCAnswer(.success(JSONCoding.encode(value))) }

    private static func error(_ code: ErrorCode, _ message: String) -> RPCError {
        RPCError(code: code.rpcCode, message: message, cause: code.rawValue)
    }

    private static func text(_ seconds: Double) -> String { "\(Timestamp(milliseconds: Int64(seconds * 1000)))" }
}
