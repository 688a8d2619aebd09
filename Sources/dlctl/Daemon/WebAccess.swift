import Glibc
import TransferClient
import TransferModel
import TransferRPC

/// Finds dld-web, which serves the page for browsers, and starts its unit if that is enabled.
struct WebAccess: Sendable {
    var environment: [String: String]
    var mayStart: Bool

    private static let socketUnit = "dld-web.socket"
    private static let serviceUnit = "dld-web.service"
    private static let patience = Duration.seconds(10)

    /// The control sockets, best first. That in the state folder is never one of systemd.
    private var sockets: [String] {
        func folder(_ name: String) -> String? { environment[name].flatMap { $0.hasPrefix("/") ? $0 : nil } }
        let state = folder("XDG_STATE_HOME") ?? folder("HOME").map { $0 + "/.local/state" }
        let isUsable = DaemonClient.unusableRuntimeFolder(environment: environment) == nil
        let runtime = isUsable ? folder("XDG_RUNTIME_DIR") : nil
        return [state.map { $0 + "/dld-web/web.sock" }, runtime.map { $0 + "/dld/web.sock" }].compactMap { $0 }
    }

    /// - Throws: `CommandFailure.noDaemon` with the command that starts it.
    func connect() async throws -> DaemonClient {
        if let client = try await look() { return client }
        if mayStart, await startUnits() {
            let clock = ContinuousClock()
            let end = clock.now.advanced(by: Self.patience)
            while clock.now < end {
                if let client = try await look() { return client }
                try await Task.sleep(for: .milliseconds(20))
            }
            throw CommandFailure.noDaemon(
                "dld-web was started but does not answer; systemctl --user status \(Self.serviceUnit) shows why")
        }
        throw CommandFailure.noDaemon(
            "dld-web does not run; start it with: systemctl --user enable --now \(Self.socketUnit)\n"
                + "  or, without systemd: dld-web")
    }

    private func look() async throws -> DaemonClient? {
        for path in sockets {
            guard let client = try? await DaemonClient.connect(to: path, patience: Self.patience) else { continue }
            if let user = client.daemonUser, user == geteuid() { return client }
            // Its links would sign this user in to another's page.
            await client.close()
            throw CommandFailure.noDaemon("the program at \(Printable.text(path)) is another user's")
        }
        return nil
    }

    /// - Returns: whether a unit was started.
    private func startUnits() async -> Bool {
        func systemctl(_ words: String...) async -> Bool {
            await OtherProgram(["systemctl", "--user"] + words)?.succeeds() ?? false
        }
        if await systemctl("is-enabled", "--quiet", Self.socketUnit) {
            return await systemctl("start", Self.socketUnit, Self.serviceUnit)
        }
        guard await systemctl("is-enabled", "--quiet", Self.serviceUnit) else { return false }
        return await systemctl("start", Self.serviceUnit)
    }
}

/// What dld-web does for dlctl.
enum WebMethods {
    static let link = Method<WebRequest, WebAnswer>("web.link", "A link that signs a browser in, once.")
    static let sessions = Method<WebRequest, WebAnswer>("web.sessions", "The browsers that are signed in.")
    static let revoke = Method<WebRequest, WebAnswer>("web.revoke", "Signs browsers out.")
}

struct WebRequest: WireObject, Hashable {
    var fragment: String?
    var session: String?

    static let shape = Shape("WebRequest", Self()) { row in
        row("fragment", \.fragment, "`web.link`: where the page begins, as in `/task/7`.")
        row("session", \.session, "`web.revoke`: an identifier, or `all`.")
    }
}

struct WebAnswer: WireObject, Hashable {
    struct Session: WireObject, Hashable {
        var id = ""
        var createdAt = Timestamp(milliseconds: 0)
        var lastUsedAt = Timestamp(milliseconds: 0)

        static let shape = Shape("WebSession", Self()) { row in
            row("id", \.id, "Identifier.")
            row("createdAt", \.createdAt, "When the browser signed in.")
            row("lastUsedAt", \.lastUsedAt, "When it last asked for something.")
        }
    }

    var url: String?
    var expiresAt: Timestamp?
    var sessions: [Session]?
    var revoked: Int?

    static let shape = Shape("WebAnswer", Self()) { row in
        row("url", \.url, "`web.link`: the link.")
        row("expiresAt", \.expiresAt, "`web.link`: until when it works.")
        row("sessions", \.sessions, "`web.sessions`: browsers.")
        row("revoked", \.revoked, "`web.revoke`: how many browsers were signed out.")
    }
}
