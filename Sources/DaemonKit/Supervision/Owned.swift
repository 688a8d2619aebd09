import CurlEngine
import DaemonSetup
import Logging
import Threading
import TransferModel
import TransferStore

/// Whose data it is: all tasks of an owner share it, or one session has it for itself.
package enum OwnedPlace: Hashable, Sendable {
    case shared(UserID)
    case session(SessionKey)
    case volatile(SessionKey)

    var owner: UserID {
        switch self {
        case .shared(let owner): owner
        case .session(let key), .volatile(let key): key.owner
        }
    }

    var isStored: Bool { if case .volatile = self { false } else { true } }
}

/// What tasks learn from servers, and clients give, for owners and their sessions: cookies, credentials, known hosts,
/// trusted servers.
///
/// The newest values are in memory and in use. Those of volatile sessions are nowhere else. Changes that the store could
/// not take are tried again with the owner's next change, when the daemon stops, and after pauses while the state folder
/// is full or failing.
final class Owned<Value: Sendable, Change: Hashable & Sendable>: Sendable {
    typealias Reading = @Sendable (StoreTransaction) throws -> [OwnedPlace: Value]
    /// Writes each change of an owner as it is at the time of the write, so the newest value is stored, in whatever order
    /// the changes reach the store.
    typealias Writing = @Sendable (Set<Change>, UserID, Owned, StoreTransaction) throws -> Void

    /// What the store could not take of an owner's changes.
    private struct Left {
        var changes: Set<Change> = []
        /// Until the next try. A write that fails also fails those of others that share its commit.
        var pause = Duration.seconds(1)
        var isRetried = false
    }

    private let values = Guarded<[OwnedPlace: Value]>([:])
    private let left = Guarded<[UserID: Left]>([:])
    private let store: TransferStore
    private let reading: Reading
    private let writing: Writing
    private let sleep: @Sendable (Duration) async -> Void

    /// - Parameter store: the store on the disk.
    init(
        store: TransferStore, sleep: @escaping @Sendable (Duration) async -> Void = { try? await Task.sleep(for: $0) },
        reading: @escaping Reading, writing: @escaping Writing = { _, _, _, _ in }
    ) {
        self.store = store
        self.sleep = sleep
        self.reading = reading
        self.writing = writing
    }

    // MARK: In memory

    /// Reads what is stored, on the thread that writes it: so the last of several readings has the last change. Must be
    /// called before any other function.
    /// - Parameter again: false to read nothing if values are here already.
    func load(again: Bool = false) async throws {
        guard again || values.withLock(\.isEmpty) else { return }
        try await store.write { [values, reading] transaction in
            let stored = try reading(transaction)
            values.withLock { $0 = stored }
        }
    }

    subscript(place: OwnedPlace) -> Value? { values.withLock { $0[place] } }

    /// Returns the value of a place, which is made if there is none.
    func value(at place: OwnedPlace, _ new: @autoclosure () -> Value) -> Value {
        values.withLock { values in
            let value = values[place] ?? new()
            values[place] = value
            return value
        }
    }

    func withAll<T>(_ body: (inout [OwnedPlace: Value]) throws -> T) rethrows -> T { try values.withLock(body) }

    /// Drops a value in memory only.
    func forget(_ place: OwnedPlace) { values.withLock { $0[place] = nil } }

    // MARK: In the store

    /// Hands changes to the store and does not wait.
    func store(_ new: Set<Change>, of place: OwnedPlace) {
        if place.isStored { store(new, of: place.owner) }
    }

    private func store(_ new: Set<Change>, of owner: UserID) {
        let due = take(new, owner)
        guard !due.isEmpty else { return }
        store.write({ [self] in try writing(due, owner, self, $0) }) { [weak self] in
            switch $0 {
            case .success: self?.settle(owner)
            case .failure(let error): self?.keep(due, of: owner, error)
            }
        }
    }

    /// Like `store`, but the changes, and those that were left, are durable when this returns.
    /// - Throws: what the store throws. The changes are then tried again too.
    func write(_ new: Set<Change>, of place: OwnedPlace) async throws {
        let owner = place.owner
        let due = place.isStored ? take(new, owner) : []
        guard !due.isEmpty else { return }
        do {
            try await store.write { [self] in try writing(due, owner, self, $0) }
            settle(owner)
        } catch {
            keep(due, of: owner, error)
            guard var error = error as? TransferError, Self.passes(error) else { throw error }
            error.message += " The change is in force, and is stored when the disk works again."
            throw error
        }
    }

    /// How many changes the store could not take.
    var unstoredCount: Int { left.withLock { $0.values.reduce(0) { $0 + $1.changes.count } } }

    /// Hands what is left to the store, because it is about to close.
    func flush() { for owner in left.withLock({ $0.keys }) { store([], of: owner) } }

    private func take(_ new: Set<Change>, _ owner: UserID) -> Set<Change> {
        left.withLock { left in
            guard let changes = left[owner]?.changes, !changes.isEmpty else { return new }
            left[owner]?.changes = []
            return changes.union(new)
        }
    }

    /// No pause mends a damaged database.
    private static func passes(_ error: TransferError) -> Bool { StorePatience.passes(error.code) && error.retryable }

    private func settle(_ owner: UserID) {
        left.withLock { left in
            if left[owner]?.changes.isEmpty == true { left[owner] = nil }
        }
    }

    private func keep(_ due: Set<Change>, of owner: UserID, _ error: any Error) {
        let passes = (error as? TransferError).map(Self.passes) ?? false
        let pause = left.withLock { left -> Duration? in
            var known = left[owner] ?? Left()
            known.changes.formUnion(due)
            defer { left[owner] = known }
            guard passes, !known.isRetried else { return nil }
            known.isRetried = true
            return known.pause
        }
        guard let pause else { return }
        Task { [weak self, sleep] in
            await sleep(pause)
            guard let self else { return }
            left.withLock { left in
                left[owner]?.isRetried = false
                left[owner]?.pause = min(pause * 2, .seconds(60))
            }
            store([], of: owner)
        }
    }
}

/// The keepers of owners' data. Durable and volatile sessions have the same.
package final class Keepers: Sendable {
    package let cookies: CookieKeeper
    package let credentials: CredentialKeeper
    package let hsts: HSTSKeeper
    package let trust: TrustKeeper

    /// - Parameters:
    ///   - store: the store on the disk.
    ///   - helper: nil if there is none, as in a system daemon.
    ///   - kerberos: nil if this machine has none.
    package init(
        store: TransferStore, helper: CredentialHelper? = nil, kerberos: Kerberos? = nil, logger: Logger,
        time: any TimeSource = SystemTime()
    ) {
        cookies = CookieKeeper(store: store, time: time)
        credentials = CredentialKeeper(store: store, helper: helper, kerberos: kerberos, logger: logger, time: time)
        hsts = HSTSKeeper(store: store, time: time)
        trust = TrustKeeper(store: store)
    }

    func load() async throws {
        try await cookies.kept.load()
        try await credentials.kept.load()
        try await hsts.kept.load()
        try await trust.load()
    }

    /// Watches committed events, because sessions also end by themselves with their last tasks. Stored cookies and
    /// credentials go when a session is opened, or when the daemon starts.
    /// - Parameter isVolatile: the events are those of volatile sessions. A durable session may have the same name.
    package func follow(_ events: [EventRecord], isVolatile: Bool) {
        for event in events where event.type == .sessionInvalidated {
            forget(isVolatile ? .volatile(event.session) : .session(event.session))
        }
    }

    /// Drops what an ended session had for itself, in memory only.
    func forget(_ place: OwnedPlace) {
        cookies.forget(place)
        credentials.kept.forget(place)
        hsts.kept.forget(place)
    }

    /// Hands the store what a failing disk kept out of it, because it is about to close.
    func flush() {
        cookies.kept.flush()
        credentials.kept.flush()
        hsts.kept.flush()
    }

    /// How many changes are not stored, by kind; empty if all are.
    var unstored: [String: Int] {
        [
            "cookies": cookies.kept.unstoredCount, "knownHosts": hsts.kept.unstoredCount,
            "credentials": credentials.kept.unstoredCount,
        ].filter { $0.value > 0 }
    }
}
