import NIOConcurrencyHelpers
import TransferModel

/// Who is signed in: the keys that `dlctl web` makes, the sessions that they open, and the token that each session's
/// requests carry.
///
/// A key works once and for 60 s. A session lives in a browser's cookie, of which only the digest is stored; so sessions
/// outlive restarts, and the file opens none. It ends after 30 days without use.
final class SignIn: Sendable {
    struct Session: Hashable, Sendable {
        /// Names it without giving access.
        var id: String
        var digest: String
        /// In seconds since 1970.
        var createdAt: Double
        var lastUsedAt: Double
    }

    private struct State {
        /// By key: when it ends, on the monotonic clock.
        var keys: [(key: String, end: ContinuousClock.Instant)] = []
        var sessions: [Session]
    }

    static let keyLifetime = Duration.seconds(60)
    static let sessionLifetime = 2_592_000.0
    private static let mostKeys = 8
    private static let mostSessions = 100
    /// A use is stored if the stored one is older than this, in seconds.
    private static let staleness = 3600.0

    private let state: NIOLockedValueBox<State>
    private let file: StateFile
    /// Called with the ids of sessions that have ended.
    let ended = NIOLockedValueBox<@Sendable (Set<String>) -> Void>({ _ in })

    init(_ file: StateFile) {
        self.file = file
        state = NIOLockedValueBox(State(sessions: file.content.sessions))
    }

    // MARK: Keys

    /// A new key. If too many are open, the oldest goes.
    func makeKey(now: ContinuousClock.Instant = .now) -> String {
        let key = Secret.random(bits: 192)
        state.withLockedValue { state in
            state.keys.removeAll { $0.end <= now }
            if state.keys.count >= Self.mostKeys { state.keys.removeFirst() }
            state.keys.append((key, now + Self.keyLifetime))
        }
        return key
    }

    /// Uses up a key.
    /// - Returns: the cookie's value of a new session; nil if the key is unknown, used or late.
    func open(_ key: String, now: ContinuousClock.Instant = .now, time: Double) -> String? {
        let isGood = state.withLockedValue { state in
            guard let index = state.keys.firstIndex(where: { Secret.equal($0.key, key) }) else { return false }
            return state.keys.remove(at: index).end > now
        }
        guard isGood else { return nil }
        let cookie = Secret.random(bits: 256)
        let session = Session(
            id: Secret.random(bits: 48), digest: Secret.digest(cookie), createdAt: time, lastUsedAt: time)
        change { state in
            if state.sessions.count >= Self.mostSessions,
                let oldest = state.sessions.indices.min(by: {
                    state.sessions[$0].lastUsedAt < state.sessions[$1].lastUsedAt
                })
            {
                state.sessions.remove(at: oldest)
            }
            state.sessions.append(session)
        }
        return cookie
    }

    // MARK: Sessions

    var sessions: [Session] { state.withLockedValue { $0.sessions } }

    /// The session of a cookie; nil if it is unknown or too old.
    func session(of cookie: String, time: Double) -> Session? {
        let digest = Secret.digest(cookie)
        guard let found = sessions.first(where: { Secret.equal($0.digest, digest) }),
            time - found.lastUsedAt < Self.sessionLifetime
        else { return nil }
        if time - found.lastUsedAt > Self.staleness {
            change { state in
                if let index = state.sessions.firstIndex(where: { $0.id == found.id }) {
                    state.sessions[index].lastUsedAt = time
                }
                state.sessions.removeAll { time - $0.lastUsedAt >= Self.sessionLifetime }
            }
        }
        return found
    }

    /// The value of `X-Dld-Token` that the session's requests carry; the same after a restart.
    func token(of session: Session) -> String { Secret.code(session.digest, key: file.content.tokenKey) }

    /// - Parameter id: nil ends all sessions.
    /// - Returns: how many have ended; nil if that cannot be stored.
    @discardableResult
    func revoke(_ id: String?) -> Int? {
        let before = sessions.count
        let isStored = change { $0.sessions.removeAll { id == nil || $0.id == id } }
        return isStored ? before - sessions.count : nil
    }

    /// - Returns: whether the change is stored; it is in force in any case.
    @discardableResult
    private func change(_ body: (inout State) -> Void) -> Bool {
        let (gone, isStored) = state.withLockedValue { state in
            let before = Set(state.sessions.map(\.id))
            body(&state)
            let sessions = state.sessions
            // Under the lock, so that what is stored is the newest.
            return (before.subtracting(sessions.map(\.id)), file.change { $0.sessions = sessions })
        }
        if !gone.isEmpty { ended.withLockedValue { $0 }(gone) }
        return isStored
    }
}
