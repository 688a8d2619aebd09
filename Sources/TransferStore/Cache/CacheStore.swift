import CSQLite
import Threading
import TransferModel

/// The part of the cache on disk. No task waits for it longer than `patience`, and none fails because of it: what it
/// cannot do is not done. (`usage` and `remove` wait for the disk.)
package final class CacheStore: Sendable {
    private enum Change: Sendable {
        case put(CacheRecord, CachePlace, capacity: Int)
        case touch(CachePlace, url: String, selection: String)
        case remove(UserID, storage: String?, url: String)

        /// Bytes of its body.
        var bytes: Int {
            switch self {
            case .put(let record, _, _): record.body.count
            case .touch, .remove: 0
            }
        }

        /// What must happen if this cannot: no outdated answer may be served.
        var removal: Change? {
            switch self {
            case .put(let record, let place, _): .remove(place.owner, storage: place.storage, url: record.url)
            case .touch: nil
            case .remove: self
            }
        }
    }

    private struct State {
        var changes: [Change] = []
        /// Bytes of the bodies in `changes`.
        var bytes = 0
        /// An answer could not be removed in time: all of them are out of use until the disk has been emptied.
        var mustEmpty = false
        var isPosted = false
        /// Lookups that the queue still holds, including those whose callers no longer wait.
        var lookups = 0
        var waiting: [Int: @Sendable (CacheRecord?) -> Void] = [:]
        var lastWaiting = 0
        var isWatched = false
        var isClosed = false
    }

    /// Used only by the queue's thread.
    private struct Opened {
        var database: CacheDatabase?
        /// After a failure, no attempt is made before this time.
        var notBefore: ContinuousClock.Instant?
        /// Changes could not be made, so what is on the disk may be out of date.
        var hasMissed = false
        var isClosed = false
    }

    private let folder: CacheFolder
    /// Bytes of all storages of one owner.
    private let ownersMost: Int
    private let boot: String?
    /// How long until a cache that could not be opened is tried again.
    private let rest: Duration
    private let state = Guarded(State())
    private let opened = Guarded(Opened())
    private let queue: WorkQueue<@Sendable () -> Void>
    private let hasThread: Bool
    /// Called each time the cache starts empty because the existing files could not be used.
    private let lost: @Sendable (String) -> Void

    /// Bytes of bodies that wait for a disk that does not accept them. An answer that does not fit is not stored; the one
    /// that it was to replace is removed.
    private static let mostWaiting = 16 << 20
    /// Changes that wait, and lookups. Once there are more changes, a use is no longer noted, and an answer that cannot be
    /// removed makes the whole disk start empty.
    private static let mostChanges = 4096
    /// How long a task waits for the disk to find an answer.
    private static let patience = Duration.seconds(1)

    /// - Parameters:
    ///   - path: path of its folder, which need not exist.
    ///   - boot: identifies the boot of the machine; nil if it is not known.
    ///   - inPlace: the calling thread does the work, before the call returns.
    package init(
        path: String, ownersMost: Int, boot: String?, inPlace: Bool = false, rest: Duration = .seconds(10),
        lost: @escaping @Sendable (String) -> Void = { _ in }
    ) {
        folder = CacheFolder(path: path)
        self.ownersMost = ownersMost
        self.boot = boot
        self.rest = rest
        self.lost = lost
        hasThread = !inPlace
        queue = WorkQueue(name: "dld-cache", threads: inPlace ? 0 : 1) { $0() }
    }

    // MARK: Asking

    /// Finds a record of a URL.
    /// - Parameters:
    ///   - choose: returns the index of the wanted record; bodies are empty.
    ///   - then: called once, on any thread, possibly before this returns; with nil if there is none, or not in time.
    package func find(
        _ place: CachePlace, _ url: String, choosing choose: @escaping @Sendable ([CacheRecord]) -> Int?,
        then: @escaping @Sendable (CacheRecord?) -> Void
    ) {
        let (number, watches) = state.withLock { state -> (Int?, Bool) in
            guard !state.mustEmpty, state.lookups < Self.mostChanges else { return (nil, false) }
            state.lookups += 1
            state.lastWaiting += 1
            state.waiting[state.lastWaiting] = then
            defer { state.isWatched = true }
            return (state.lastWaiting, !state.isWatched)
        }
        guard let number else { return then(nil) }
        queue.post { [self] in
            var found: CacheRecord?
            perform { found = try $0.find(place, url, choose) }
            answer(number, found)
        }
        if hasThread, watches { Task { await watch() } }
    }

    private func answer(_ number: Int, _ record: CacheRecord?) {
        let (then, isUsable) = state.withLock { state in
            state.lookups -= 1
            return (state.waiting.removeValue(forKey: number), !state.mustEmpty)
        }
        then?(isUsable ? record : nil)
    }

    /// Answers callers that have waited long enough.
    private func watch() async {
        while true {
            let last = state.withLock { $0.lastWaiting }
            try? await Task.sleep(for: Self.patience)
            let (overdue, isOver) = state.withLock { state in
                let overdue = state.waiting.filter { $0.key <= last }
                for number in overdue.keys { state.waiting[number] = nil }
                state.isWatched = !state.waiting.isEmpty
                return (overdue, state.waiting.isEmpty)
            }
            for then in overdue.values { then(nil) }
            if isOver { return }
        }
    }

    /// What an owner has on disk, by storage.
    package func usage(of owner: UserID) async -> [String: CacheUsage] {
        await withCheckedContinuation { continuation in
            queue.post { [self] in
                var found: [String: CacheUsage] = [:]
                perform { found = $0.usage(of: owner) }
                continuation.resume(returning: found)
            }
        }
    }

    /// Like `CacheDatabase.remove`.
    package func remove(_ owner: UserID, _ storage: String?, url: String?, since: Int64?) async -> Int {
        await withCheckedContinuation { continuation in
            queue.post { [self] in
                var count = 0
                let isDone = perform { database in
                    try database.change { count = try database.remove(owner, storage, url: url, since: since) }
                }
                if !isDone {
                    opened.withLock { discard(&$0, "there is no room to remove what a client removes") }
                }
                continuation.resume(returning: count)
            }
        }
    }

    // MARK: Changing

    /// Stores a record in place of the one with the same identity; returns at once.
    package func put(_ record: CacheRecord, in place: CachePlace, capacity: Int) {
        add(.put(record, place, capacity: capacity))
    }

    /// Notes that a record was used; returns at once.
    package func touch(_ place: CachePlace, url: String, selection: String) {
        add(.touch(place, url: url, selection: selection))
    }

    /// Removes all answers for a URL; returns at once. From then on no lookup finds them.
    package func forget(_ owner: UserID, _ storage: String?, url: String) {
        add(.remove(owner, storage: storage, url: url))
    }

    private func add(_ change: Change) {
        let posts = state.withLock { state in
            let fits = state.bytes + change.bytes <= Self.mostWaiting
            guard !state.isClosed, let change = fits ? change : change.removal else { return false }
            if state.changes.count < Self.mostChanges {
                state.changes.append(change)
                state.bytes += change.bytes
            } else if change.removal != nil {
                (state.changes, state.bytes, state.mustEmpty) = ([], 0, true)
            }
            defer { state.isPosted = true }
            return !state.isPosted
        }
        if posts { queue.post { [self] in write() } }
    }

    /// Performs all waiting changes in one transaction.
    private func write() {
        let (changes, mustEmpty) = state.withLock { state in
            defer { (state.changes, state.bytes, state.mustEmpty, state.isPosted) = ([], 0, false, false) }
            return (state.changes, state.mustEmpty)
        }
        if mustEmpty { opened.withLock { discard(&$0, "the disk did not remove in time what was out of date") } }
        guard !changes.isEmpty, !perform({ try apply(changes, to: $0) }) else { return }
        // There is no space: records to be replaced or removed are still removed, so that no outdated one is served.
        let removals = changes.compactMap(\.removal)
        if !perform({ try apply(removals, to: $0) }) {
            opened.withLock { discard(&$0, "there is no room to remove what is out of date") }
        }
    }

    private func apply(_ changes: [Change], to database: CacheDatabase) throws {
        let most = ownersMost
        try database.change {
            for change in changes {
                switch change {
                case .put(let record, let place, let capacity):
                    try database.put(record, in: place, capacity: capacity, ownersMost: most)
                case .touch(let place, let url, let selection): try database.touch(place, url, selection)
                case .remove(let owner, let storage, let url): try database.remove(owner, storage, url: url)
                }
            }
        }
    }

    /// Performs waiting changes and closes the database; returns after `patience` at the latest.
    package func close() async {
        state.withLock { $0.isClosed = true }
        let (end, over) = AsyncStream.makeStream(of: Void.self)
        queue.post { [self] in
            write()
            opened.withLock { opened in
                if opened.hasMissed { folder.clear() }
                // If this fails, only the running boot uses the database again.
                try? opened.database?.finish()
                opened = Opened(isClosed: true)
            }
            over.finish()
        }
        queue.close()
        let timer = Task {
            try? await Task.sleep(for: Self.patience)
            over.finish()
        }
        for await _ in end {}
        timer.cancel()
    }

    // MARK: The database, on the queue's thread

    /// - Returns: false if there was no room: then nothing has changed.
    @discardableResult
    private func perform(_ job: (CacheDatabase) throws -> Void) -> Bool {
        opened.withLock { opened in
            if let known = opened.database, !known.isInPlace { discard(&opened, "it was removed or replaced") }
            guard let database = opened.database ?? open(&opened) else { return true }
            do {
                try job(database)
            } catch let error as SQLiteError where StoreFailure.isStorageFull(error) {
                return false
            } catch let error as TransferError where error.code == .diskFull || error.code == .diskQuota {
                return false
            } catch {
                discard(&opened, "\(error)")
            }
            return true
        }
    }

    private func open(_ opened: inout Opened) -> CacheDatabase? {
        let now = ContinuousClock.now
        guard !opened.isClosed, opened.notBefore.map({ now >= $0 }) ?? true else { return nil }
        do {
            if opened.hasMissed { folder.clear() }
            let made = try CacheDatabase(folder, boot: boot, lost)
            opened.database = made
            opened.hasMissed = false
            return made
        } catch {
            opened.hasMissed = true
            opened.notBefore = now + rest
            lost("\(error)")
            return nil
        }
    }

    /// Starts empty next time.
    private func discard(_ opened: inout Opened, _ cause: String) {
        opened.database?.close()
        opened.database = nil
        opened.hasMissed = true
        folder.clear()
        lost(cause)
    }
}
