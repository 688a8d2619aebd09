import CLinux
import Glibc
import Threading
import TransferCore
import TransferModel

/// Kerberos as it is set up on this machine (krb5.conf(5)), asked on threads of its own: the servers of a realm that are silent hold
/// a call for half a minute.
package final class Kerberos: Sendable {
    /// Whose tickets a token is made of.
    package enum Login: Sendable, Hashable {
        /// Got for this call alone, and kept in memory.
        case password(user: String, String)
        /// Those of the daemon's own user.
        case tickets
    }

    /// Whether this machine has its library.
    package static var isInstalled: Bool { dld_can_negotiate() != 0 }

    /// The tickets of the daemon's user are its clients' own: not so in the system daemon.
    package let hasTickets: Bool
    /// A lane for each owner: whose realm is silent holds up nobody else.
    private let tokens = LaneQueue(name: "dld-kerberos", width: 4, limit: 8)
    /// What only reads files does not wait behind what asks realms.
    private let looks = LaneQueue(name: "dld-kerberos", width: 1, limit: 2)
    private static let longestText = 512
    private static let longestLook = Duration.seconds(5)

    package init(hasTickets: Bool) { self.hasTickets = hasTickets }

    deinit {
        tokens.close()
        looks.close()
    }

    /// Makes tokens for the service HTTP at some hosts, one after the other. `then` is called once, on a thread of its own.
    func make(
        _ wanted: [(host: String, login: Login)], for owner: UserID,
        then: @escaping @Sendable ([Result<String, KerberosFailure>]) -> Void
    ) {
        let begun = ContinuousClock.now
        tokens.post(on: UInt64(owner.rawValue)) { [hasTickets] in
            // Nobody waits any more: a realm that is silent must not keep later requests from it.
            guard ContinuousClock.now - begun < .nanoseconds(Reactor.tokenPatience) else {
                return then(wanted.map { _ in .failure(KerberosFailure("too many requests wait for it")) })
            }
            then(wanted.map { Self.token(for: $0.host, $0.login, hasTickets: hasTickets) })
        }
    }

    private static func token(for host: String, _ login: Login, hasTickets: Bool) -> Result<String, KerberosFailure> {
        var why = [CChar](repeating: 0, count: longestText)
        var bytes: UnsafeMutablePointer<UInt8>?
        var count = 0
        let result =
            switch login {
            case .password(let user, let password):
                dld_negotiate(host, user, password, &bytes, &count, &why, why.count)
            case .tickets where hasTickets: dld_negotiate(host, nil, nil, &bytes, &count, &why, why.count)
            case .tickets: Int32(DLD_NEGOTIATE_FAILED)
            }
        defer { free(bytes) }
        if result == DLD_NEGOTIATE_MADE {
            return .success(Negotiation.field(Array(UnsafeBufferPointer(start: bytes, count: count))))
        }
        return .failure(KerberosFailure(text(why), isRefusal: result == DLD_NEGOTIATE_REFUSED))
    }

    private static func text(_ why: [CChar]) -> String {
        let bytes = why.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
        return bytes.isEmpty ? "no tickets may be used" : String(decoding: bytes, as: UTF8.self)
    }

    /// Why the daemon's user has no ticket to begin with; nil if there is one. No realm is asked.
    package func missingTicket() async -> String? { await look(nil) }

    /// Whether a user belongs to a realm of this machine's, or of those that it finds.
    /// - Parameter user: nil for any without a realm in its name.
    package func knowsRealm(of user: String?) async -> Bool { await look(user ?? "anybody") == nil }

    private func look(_ user: String?) async -> String? {
        guard Self.isInstalled else { return "libgssapi_krb5 is not installed" }
        let waiting = Guarded<CheckedContinuation<String?, Never>?>(nil)
        let answer: @Sendable (String?) -> Void = { text in
            let continuation = waiting.withLock { waiting in
                defer { waiting = nil }
                return waiting
            }
            continuation?.resume(returning: text)
        }
        return await withCheckedContinuation { (continuation: CheckedContinuation<String?, Never>) in
            waiting.withLock { $0 = continuation }
            looks.post(on: 0) {
                var why = [CChar](repeating: 0, count: Self.longestText)
                let isReady = dld_negotiate_look(user, &why, why.count) == DLD_NEGOTIATE_MADE
                answer(isReady ? nil : Self.text(why))
            }
            Task {
                try? await Task.sleep(for: Self.longestLook)
                answer("what keeps the tickets does not answer")
            }
        }
    }
}
