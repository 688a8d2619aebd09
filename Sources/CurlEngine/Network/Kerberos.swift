import CLinux
import Glibc
import Threading
import TransferCore
import TransferModel

/// Kerberos as it is set up on this machine (krb5.conf(5)). Calls run on separate threads, because a call blocks for
/// half a minute if a realm's servers do not answer.
package final class Kerberos: Sendable {
    /// The tickets from which a token is made.
    package enum Login: Sendable, Hashable {
        /// Tickets that are fetched for this call alone and kept in memory.
        case password(user: String, String)
        /// The tickets of the daemon's own user.
        case tickets
    }

    /// Whether this machine has the library.
    package static var isInstalled: Bool { dld_can_negotiate() != 0 }

    /// Whether the tickets of the daemon's user may be used. False in the system daemon, whose clients are other users.
    package let hasTickets: Bool
    /// Has a key for each owner, so that a realm that does not answer delays only its own users.
    private let tokens = KeyedQueue(name: "dld-kerberos", width: 4, limit: 8)
    /// Calls that only read files. They must not wait behind calls that ask realms.
    private let looks = KeyedQueue(name: "dld-kerberos", width: 1, limit: 2)
    private static let longestText = 512
    private static let longestLook = Duration.seconds(5)

    package init(hasTickets: Bool) { self.hasTickets = hasTickets }

    deinit {
        tokens.close()
        looks.close()
    }

    /// Makes tokens for the service HTTP at some hosts, one after another. `then` is called once, on one of the queue's
    /// threads.
    func make(
        _ wanted: [(host: String, login: Login)], for owner: UserID,
        then: @escaping @Sendable ([Result<String, KerberosFailure>]) -> Void
    ) {
        let begun = ContinuousClock.now
        tokens.post(on: UInt64(owner.rawValue)) { [hasTickets] in
            // The request no longer waits for its token. A realm that does not answer must not delay later requests.
            guard ContinuousClock.now - begun < .nanoseconds(Reactor.tokenPatience) else {
                return then(wanted.map { _ in .failure(KerberosFailure("too many requests wait for the realm")) })
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

    /// Returns why the daemon's user has no initial ticket; nil if there is one. Does not ask a realm.
    package func missingTicket() async -> String? { await look(nil) }

    /// Whether the user name has a realm, or this machine has a default realm.
    /// - Parameter user: nil for a name without a realm.
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
                answer("the ticket cache does not answer")
            }
        }
    }
}
