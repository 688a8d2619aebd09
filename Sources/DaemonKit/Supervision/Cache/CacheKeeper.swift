import Threading
import TransferCore
import TransferModel
import TransferStore

/// All stored answers: those in memory, and behind them those on the disk. It also knows the running requests that
/// others wait for.
package final class CacheKeeper: Sendable {
    /// The owner of stored answers, and where they may be kept.
    struct Shelf: Sendable, Hashable {
        var place: CachePlace
        var policy: CachePolicy
    }

    /// A running request whose answer other requests may use.
    struct Flight: Hashable, Sendable {
        var place: CachePlace
        var url: String
        var credentials: String?
    }

    /// A flight as the request that leads it knows it.
    struct Lead: Sendable {
        var flight: Flight
        /// Distinguishes this flight from later ones of the same name.
        var number: Int
    }

    private struct Waiters {
        typealias Waiter = (fields: [HeaderField], body: @Sendable (Lead?) -> Void)

        var number: Int
        var waiting: [Int: Waiter] = [:]
        /// The request fields that the answer depends on, once its header has arrived.
        var selection: CacheSelection?
    }

    private struct State {
        var memory: [CachePlace: CacheMemory] = [:]
        var bytes: [UserID: Int] = [:]
        var flights: [Flight: Waiters] = [:]
        var number = 0
        var invalidations = Invalidations()

        /// Changes the memory of a place, and counts its owner's bytes.
        @discardableResult
        mutating func change<Value>(_ place: CachePlace, _ body: (inout CacheMemory) -> Value) -> Value {
            // Removed first, so that its contents are changed in place instead of being copied.
            var memory = self.memory.removeValue(forKey: place) ?? CacheMemory()
            let before = memory.bytes
            let value = body(&memory)
            bytes[place.owner, default: 0] += memory.bytes - before
            if memory.count > 0 { self.memory[place] = memory }
            return value
        }
    }

    private let state = Guarded(State())
    private let disk: CacheStore?
    /// The fields that the engine adds to a request that does not have them.
    let defaults: [HeaderField]

    /// How long a task waits for another task's answer.
    static let patience = Duration.seconds(10)

    /// - Parameters:
    ///   - disk: nil if nothing is kept on the disk.
    ///   - userAgent: the default of requests that set none.
    package init(disk: CacheStore?, userAgent: String = "") {
        self.disk = disk
        defaults = [HeaderField("User-Agent", userAgent), HeaderField("Accept", "*/*")]
    }

    package func close() async { await disk?.close() }

    // MARK: Answers

    /// Begins to record invalidations. They are recorded as long as the returned value is kept.
    func reading() -> CacheReading {
        let since = state.withLock { $0.invalidations.begin() }
        return CacheReading(since: since) { [weak self] in self?.state.withLock { $0.invalidations.end() } }
    }

    /// Finds the stored answer for a request. `then` is called once, on any thread, possibly before this function
    /// returns.
    /// - Parameter reading: answers invalidated after it began are not found.
    func find(
        _ request: CacheRequest, on shelf: Shelf, since reading: CacheReading,
        then: @escaping @Sendable (CachedAnswer?) -> Void
    ) {
        if let found = recall(request, on: shelf) { return then(found) }
        guard let disk, Self.mayBeOnDisk(request, shelf) else { return then(nil) }
        disk.find(shelf.place, request.url) { records in
            let responses = records.map { StoredResponse($0) }
            guard let wanted = request.selected(of: responses.compactMap { $0 }) else { return nil }
            return responses.firstIndex(of: wanted)
        } then: { [self] record in
            guard let record, let response = StoredResponse(record) else { return then(nil) }
            let answer = CachedAnswer(response: response, body: record.body)
            switch remember(answer, request.url, on: shelf, since: reading, readFor: request) {
            case .kept, .tooLarge: break
            case .outdated(let newer): return then(newer)
            case .invalidated: return then(nil)
            }
            disk.touch(shelf.place, url: request.url, selection: record.selection)
            then(answer)
        }
    }

    /// Like `find`, but only in memory.
    func recall(_ request: CacheRequest, on shelf: Shelf) -> CachedAnswer? {
        let found = state.withLock { state in
            state.memory[shelf.place] == nil ? nil : state.change(shelf.place) { $0.find(request) }
        }
        if let found, Self.mayBeOnDisk(request, shelf) {
            disk?.touch(shelf.place, url: request.url, selection: found.response.selection.text)
        }
        return found
    }

    /// Tells whether memory has an answer for a URL, for any request.
    func remembers(_ url: String, in place: CachePlace) -> Bool {
        state.withLock { $0.memory[place]?.has(url) ?? false }
    }

    private static func mayBeOnDisk(_ request: CacheRequest, _ shelf: Shelf) -> Bool {
        shelf.policy.diskCapacity > 0 && request.credentials == nil
    }

    /// Keeps an answer in memory or on disk if it fits. Otherwise removes an older answer, so that the older one is not
    /// used in its place.
    /// - Parameters:
    ///   - reading: began before the request for the answer. An answer that was invalidated since is not kept.
    ///   - replaces: an older answer was stored.
    func put(_ answer: CachedAnswer, _ url: String, on shelf: Shelf, since reading: CacheReading, replaces: Bool) {
        switch remember(answer, url, on: shelf, since: reading) {
        case .kept: break
        case .tooLarge: forgetInMemory(url, shelf.place)
        case .invalidated, .outdated: return
        }
        guard let disk, shelf.policy.diskCapacity > 0 else { return }
        guard fitsOnDisk(answer, url, shelf), let record = CacheRecord(answer, url) else {
            if replaces, answer.credentials == nil { disk.forget(shelf.place.owner, shelf.place.storage, url: url) }
            return
        }
        disk.put(record, in: shelf.place, capacity: shelf.policy.diskCapacity)
        // An invalidation in between could not remove what was not there yet.
        if state.withLock({ $0.invalidations.concern(url, shelf.place, since: reading.since) }) {
            disk.forget(shelf.place.owner, shelf.place.storage, url: url)
        }
    }

    /// Returns where `put` would keep an answer; nil for nowhere.
    func proposal(for answer: CachedAnswer, _ url: String, on shelf: Shelf) -> DecisionDefault? {
        if disk != nil, fitsOnDisk(answer, url, shelf) { return .store }
        return fitsInMemory(answer, url, shelf) ? .memoryOnly : nil
    }

    /// Secrets are not written to the disk. Neither are answers that could never be used without a new request.
    private func fitsOnDisk(_ answer: CachedAnswer, _ url: String, _ shelf: Shelf) -> Bool {
        answer.credentials == nil && !answer.isMemoryOnly && !answer.response.selection.namesSecrets
            && (answer.response.lifetime > 0 || !answer.response.validators.isEmpty)
            && answer.size(url) <= shelf.policy.diskCapacity / CachePolicy.share
    }

    private func fitsInMemory(_ answer: CachedAnswer, _ url: String, _ shelf: Shelf) -> Bool {
        answer.size(url) <= shelf.policy.memoryCapacity / CachePolicy.share
    }

    private enum Remembering {
        case kept, tooLarge, invalidated
        /// Memory has got a newer one since.
        case outdated(CachedAnswer)
    }

    /// - Parameter request: the one for which the answer was read from the disk; nil if it comes from a server.
    private func remember(
        _ answer: CachedAnswer, _ url: String, on shelf: Shelf, since reading: CacheReading,
        readFor request: CacheRequest? = nil
    ) -> Remembering {
        state.withLock { state in
            guard !state.invalidations.concern(url, shelf.place, since: reading.since) else { return .invalidated }
            if let request, state.memory[shelf.place] != nil,
                let known = state.change(shelf.place, { $0.find(request) }),
                known.response.responseTime >= answer.response.responseTime
            {
                return .outdated(known)
            }
            guard fitsInMemory(answer, url, shelf) else { return .tooLarge }
            let others = (state.bytes[shelf.place.owner] ?? 0) - (state.memory[shelf.place]?.bytes ?? 0)
            let most = min(shelf.policy.memoryCapacity, Bounds.cacheMemoryOfOwner - others)
            state.change(shelf.place) { $0.put(answer, url, capacity: most) }
            return .kept
        }
    }

    private func forgetInMemory(_ url: String, _ place: CachePlace) {
        state.withLock { state in
            if state.memory[place] != nil { state.change(place) { $0.remove(url) } }
        }
    }

    /// Invalidates all answers for a URL.
    func forget(_ url: String, on shelf: Shelf) {
        state.withLock { $0.invalidations.note(url, shelf.place) }
        drop(url, on: shelf)
    }

    /// Removes all answers for a URL, which may be stored again.
    func drop(_ url: String, on shelf: Shelf) {
        forgetInMemory(url, shelf.place)
        if shelf.policy.hasDisk { disk?.forget(shelf.place.owner, shelf.place.storage, url: url) }
    }

    /// Removes what an ended session has in memory.
    func forget(_ session: SessionKey) {
        let place = CachePlace(session.owner, session.identifier)
        state.withLock { state in
            state.invalidations.note(nil, place)
            if state.memory[place] != nil { state.change(place) { $0 = CacheMemory() } }
        }
    }

    // MARK: Clients

    /// Returns what an owner has, by storage. The owner's own storage has the empty name.
    package func usage(of owner: UserID) async -> [String: (memory: CacheUsage, disk: CacheUsage)] {
        var found = (await disk?.usage(of: owner) ?? [:]).mapValues { (memory: CacheUsage(), disk: $0) }
        let memory = state.withLock { $0.memory.filter { $0.key.owner == owner } }
        for (place, memory) in memory {
            let disk = found[place.storage]?.disk ?? CacheUsage()
            found[place.storage] = (CacheUsage(bytes: memory.bytes, entries: memory.count), disk)
        }
        return found
    }

    /// Removes the answers that satisfy all given conditions.
    /// - Parameters:
    ///   - storages: the empty name means the owner's own.
    ///   - since: stored at or after this time.
    /// - Returns: how many there were, in memory and on the disk.
    package func remove(
        _ owner: UserID, _ storages: [String], url: String?, since: Timestamp?
    ) async -> (memory: Int, disk: Int) {
        let seconds = since.map { $0.rawValue / 1000 } ?? .min
        var removed = (memory: 0, disk: 0)
        for storage in storages {
            let place = CachePlace(owner, storage)
            removed.memory += state.withLock { state in
                state.invalidations.note(url, place)
                guard state.memory[place] != nil else { return 0 }
                return state.change(place) { memory in
                    if let url { return memory.remove(url) { $0.response.responseTime >= seconds } }
                    return memory.remove(since: seconds)
                }
            }
            removed.disk += await disk?.remove(owner, storage, url: url, since: since == nil ? nil : seconds) ?? 0
        }
        return removed
    }

    // MARK: Flights

    /// What a request does if its answer is not stored.
    enum Start {
        /// It is sent, and others may wait for it. `land` or `handOn` must be called.
        case lead(Lead)
        /// Another request is running. `body` is called when that one is over, or after `patience`.
        case wait
        /// Another request is running, but its answer does not fit this one. This one is sent, and no other request
        /// waits for it.
        case pass
    }

    /// - Parameters:
    ///   - id: identifies the waiting request, for `leave`.
    ///   - fields: the fields of the request, which Vary may name.
    ///   - body: called once on any thread, if this returns `wait`; with a lead if this request leads now.
    func start(
        _ flight: Flight, waiter id: Int, _ fields: [HeaderField],
        _ body: @escaping @Sendable (Lead?) -> Void
    ) -> Start {
        let (start, mustWatch) = state.withLock { state -> (Start, Int?) in
            if var known = state.flights[flight] {
                if let selection = known.selection, !selection.matches(fields) { return (.pass, nil) }
                let isFirst = known.waiting.isEmpty
                known.waiting[id] = (fields, body)
                state.flights[flight] = known
                return (.wait, isFirst ? known.number : nil)
            }
            state.number += 1
            state.flights[flight] = Waiters(number: state.number)
            return (.lead(Lead(flight: flight, number: state.number)), nil)
        }
        if let number = mustWatch {
            Task { [weak self] in
                try? await Task.sleep(for: Self.patience)
                self?.land(Lead(flight: flight, number: number))
            }
        }
        return start
    }

    /// Ends a flight, and lets the requests that wait for it continue.
    func land(_ lead: Lead) {
        let waiters = state.withLock { state -> Waiters? in
            guard state.flights[lead.flight]?.number == lead.number else { return nil }
            return state.flights.removeValue(forKey: lead.flight)
        }
        for waiter in (waiters?.waiting ?? [:]).values { waiter.body(nil) }
    }

    /// Ends the leading request without an answer, because its task was stopped. The oldest waiting request leads
    /// instead, and the others wait for it. The flight keeps its number, so all of them wait `patience` at most.
    func handOn(_ lead: Lead) {
        let next = state.withLock { state -> Waiters.Waiter? in
            guard var known = state.flights[lead.flight], known.number == lead.number else { return nil }
            guard let first = known.waiting.keys.min() else {
                state.flights[lead.flight] = nil
                return nil
            }
            let next = known.waiting.removeValue(forKey: first)
            known.selection = nil
            state.flights[lead.flight] = known
            return next
        }
        next?.body(lead)
    }

    /// Notes the header of a flight's answer, and lets waiting requests that it does not fit continue (RFC 9111 section
    /// 4.1).
    func select(_ lead: Lead, _ selection: CacheSelection) {
        let others = state.withLock { state -> [Waiters.Waiter] in
            guard var known = state.flights[lead.flight], known.number == lead.number else { return [] }
            known.selection = selection
            let others = known.waiting.filter { !selection.matches($0.value.fields) }
            for id in others.keys { known.waiting[id] = nil }
            state.flights[lead.flight] = known
            return Array(others.values)
        }
        for waiter in others { waiter.body(nil) }
    }

    /// Lets one waiting request continue at once.
    func leave(_ flight: Flight, waiter id: Int) {
        state.withLock { $0.flights[flight]?.waiting.removeValue(forKey: id) }?.body(nil)
    }

    func waiterNumber() -> Int {
        state.withLock { state in
            state.number += 1
            return state.number
        }
    }
}

extension StoredResponse {
    fileprivate init?(_ record: CacheRecord) {
        self.init(
            text: record.head, selection: record.selection, requestTime: record.requestTime,
            responseTime: record.responseTime)
    }
}

extension CacheRecord {
    fileprivate init?(_ answer: CachedAnswer, _ url: String) {
        guard let head = answer.response.text else { return nil }
        self.init(
            url: url, selection: answer.response.selection.text, head: head,
            requestTime: answer.response.requestTime, responseTime: answer.response.responseTime, body: answer.body)
    }
}
