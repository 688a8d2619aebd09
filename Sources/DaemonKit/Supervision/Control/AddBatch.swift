import DaemonSetup
import FileKit
import TransferCore
import TransferModel
import TransferRPC
import TransferStore

/// The tasks of one `task.add`, stored in one transaction. Rows and events are prepared before the transaction, so that
/// the only writer thread does little more than bind and step.
struct AddBatch: Sendable {
    let key: SessionKey
    let tokens: ClientTokens
    /// The session's configuration when the batch was prepared.
    let configuration: SessionConfiguration
    let now: ClockReading
    let transitions: TaskTransitions

    /// What the answer says about one task of the call.
    private enum Place {
        /// Its client token has added the task before.
        case known(AddedTask)
        case new(Int)
        /// The same as an earlier task of the call with the same token.
        case again(Int)
    }

    /// The earliest time at which one of the tasks is due; nil if none ever is.
    private(set) var earliestTime: Timestamp?

    private var tasks: [NewTask] = []
    /// The position in the call of each of `tasks`.
    private var callPlaces: [Int] = []
    /// In order.
    private var events: [EventRecord] = []
    /// The index of each event's task.
    private var authors: [Int] = []
    /// nil if all of `tasks` are new and in the order of the call.
    private var places: [Place]?
    /// The bytes of the bodies of tasks that are already answered; nil if there are none.
    private var answeredBytes: Int?

    /// - Parameter answering: false if tasks that are already answered must run like the others.
    init(
        _ admitted: [AdmittedTask], key: SessionKey, tokens: ClientTokens, configuration: SessionConfiguration,
        now: ClockReading, transitions: TaskTransitions, answering: Bool = true
    ) {
        self.key = key
        self.tokens = tokens
        self.configuration = configuration
        self.now = now
        self.transitions = transitions
        tasks.reserveCapacity(admitted.count)
        events.reserveCapacity(admitted.count)
        authors.reserveCapacity(admitted.count)
        var births = Births(batch: self)
        let isSought = Self.areSought(admitted)
        for task in admitted {
            let birth = births.birth(of: task.$spec)
            guard answering, let end = task.end, let answered = try? births.answered(birth, end) else {
                append(task, birth, isSought: isSought)
                continue
            }
            append(task, answered, isSought: false)
            tasks[tasks.count - 1].end = end
            answeredBytes = (answeredBytes ?? 0) + end.body.count
        }
    }

    /// Tells whether tasks that are already answered may be stored as completed, as if they ran now.
    func mayAnswer(in transaction: StoreTransaction) throws -> Bool {
        guard let answeredBytes else { return true }
        return try !transaction.pausedSessions().contains(key)
            && transaction.hasRoom(forBodies: answeredBytes, of: key.owner)
    }

    private mutating func append(_ task: AdmittedTask, _ birth: Birth, isSought: Bool) {
        var new = NewTask(session: key, spec: task.$spec, status: birth.$status, host: task.host)
        new.specText = task.specText
        new.destinationDevice = task.destinationDevice
        new.checkpoint = task.checkpoint
        new.source = task.source
        if task.spec.s3 != nil { new.upload = task.spec.s3Progress(of: task.source, at: now.wall) }
        new.requestBody = task.requestBody
        new.isSought = isSought && task.spec.url?.utf8.count ?? 0 <= Self.longestSoughtURL
        new.resourceTimeoutAt = birth.expiry
        let times = [birth.status.nextAttemptAt, birth.expiry, task.spec.deadlineAt, earliestTime]
        earliestTime = times.compactMap(\.self).min()
        new.specDigest = tokens.digests[task.index]
        callPlaces.append(task.index)
        for var event in birth.events {
            if TaskTransitions.tellsIdentity(event.type) {
                event.payload.identify(as: task.$spec)
            }
            events.append(event)
            authors.append(tasks.count)
        }
        tasks.append(new)
    }

    /// Tells whether the tasks of a call can be found by their URLs later. The index is sorted by URL: a long list of
    /// unsorted URLs would write a page of it for each task, and adding would take twice as long.
    private static func areSought(_ admitted: [AdmittedTask]) -> Bool {
        guard admitted.count > longestUnsorted else { return true }
        let urls = admitted.map { $0.spec.url ?? "" }
        let ascending = zip(urls, urls.dropFirst()).count { $0 <= $1 }
        return max(ascending, urls.count - 1 - ascending) * 10 >= urls.count * 9
    }

    private static let longestUnsorted = 100
    /// In bytes. Longer URLs are rare, and would fill the index.
    private static let longestSoughtURL = 2048

    /// - Parameter check: tells whether new tasks are accepted. It is called before any is stored.
    /// - Returns: one entry for each task of the call, in order.
    /// - Throws: what `check` throws; `limit.reached`.
    func store(in transaction: StoreTransaction, _ check: () throws -> Void = {}) throws -> [AddedTask] {
        var batch = self
        try batch.resolve(in: transaction)
        if !batch.tasks.isEmpty {
            try check()
            var quota = try transitions.quota(of: key.owner, in: transaction)
            try quota?.reserve(batch.tasks.count)
        }
        let ids = try transaction.insert(batch.tasks)
        try transaction.append(batch.events, of: batch.authors.map { ids[$0] })
        if answeredBytes != nil { try transitions.sessionMayHaveDrained(key, at: now.wall, in: transaction) }
        func added(_ index: Int) -> AddedTask {
            AddedTask(id: ids[index], state: batch.tasks[index].status.state)
        }
        guard let places = batch.places else { return ids.indices.map(added) }
        return places.map { place in
            switch place {
            case .known(let task): task
            case .new(let index): added(index)
            case .again(let index):
                AddedTask(id: ids[index], state: batch.tasks[index].status.state, existing: true)
            }
        }
    }

    /// Leaves out tasks that client tokens added before, and takes over part files named by resume data.
    private mutating func resolve(in transaction: StoreTransaction) throws {
        if tasks.contains(where: { $0.$spec.wrappedValue.clientToken != nil }) { try resolveTokens(in: transaction) }
        for index in tasks.indices where tasks[index].checkpoint != nil {
            tasks[index].checkpoint = try handedOver(tasks[index].checkpoint, in: transaction)
        }
    }

    private mutating func resolveTokens(in transaction: StoreTransaction) throws {
        var places: [Place] = []
        var kept: [Int] = []
        /// The positions of tokens that occur in this call.
        var seen: [String: Int] = [:]
        for index in tasks.indices {
            if let token = tasks[index].spec.clientToken {
                if let place = seen[token] {
                    places.append(.again(place))
                    continue
                }
                if let known = try tokens.task(token, at: callPlaces[index], in: transaction) {
                    places.append(.known(known))
                    continue
                }
                seen[token] = kept.count
            }
            places.append(.new(kept.count))
            kept.append(index)
        }
        self.places = places
        let moved = Dictionary(uniqueKeysWithValues: kept.enumerated().map { ($1, $0) })
        let told = events.indices.filter { moved[authors[$0]] != nil }
        tasks = kept.map { tasks[$0] }
        callPlaces = kept.map { callPlaces[$0] }
        events = told.map { events[$0] }
        authors = told.compactMap { moved[authors[$0]] }
    }

    /// Transfers a part file named by resume data. The task that had it forgets it, so that no two tasks write to one
    /// file or take one delivery for their own. A task that has not ended keeps it, and so does a task that got it before.
    private func handedOver(
        _ checkpoint: Checkpoint?, in transaction: StoreTransaction
    ) throws -> Checkpoint? {
        guard let checkpoint,
            let holder = PartName.task(
                of: TransferFiles.lastComponent(checkpoint.partPath), store: transitions.storeID),
            let record = try transaction.task(holder)
        else { return checkpoint }
        guard let held = record.checkpoint, FileIdentity(held) == FileIdentity(checkpoint),
            record.status.state.isFinal
        else { return nil }
        try transaction.setCheckpoint(holder, nil)
        return checkpoint
    }
}

/// The initial state of a task.
private struct Birth {
    @Boxed var status: TaskStatus
    /// Without the task's id.
    var events: [EventRecord]
    var expiry: Timestamp?
}

/// The initial states of the tasks of one call, most of which are the same.
private struct Births {
    private struct Kind: Hashable {
        var startPaused: Bool
        var earliestBeginAt: Timestamp?
        var timeout: Seconds?
    }

    /// The states and events of a queued task that is answered at once.
    private typealias Life = (result: TaskResult, status: TaskStatus, begun: [EventRecord], ended: [EventRecord])

    let batch: AddBatch
    private var known: [Kind: Birth] = [:]
    private var last: Life?

    init(batch: AddBatch) { self.batch = batch }

    mutating func birth(of spec: Boxed<TaskSpec>) -> Birth {
        let kind = Kind(
            startPaused: spec.wrappedValue.startPaused ?? false, earliestBeginAt: spec.wrappedValue.earliestBeginAt,
            timeout: spec.wrappedValue.timeoutIntervalForResource ?? batch.configuration.timeoutIntervalForResource)
        if let birth = known[kind] { return birth }
        let (status, effects) = TaskMachine.added(
            startPaused: kind.startPaused, earliestBeginAt: kind.earliestBeginAt,
            at: batch.transitions.clocks.reading(batch.now, of: batch.key))
        let events = events(of: effects)
        var birth = Birth(status: status, events: events)
        birth.expiry = batch.transitions.expiry(kind.timeout, birth.$status, in: batch.key, at: batch.now)
        known[kind] = birth
        return birth
    }

    private func events(of effects: [TaskEffect]) -> [EventRecord] {
        effects.compactMap { effect -> EventRecord? in
            guard case .publish(let type, let payload) = effect else { return nil }
            return event(type, payload)
        }
    }

    private func event(_ type: EventType, _ payload: JSONMembers) -> EventRecord {
        EventRecord(time: batch.now.wall, type: type, session: batch.key, payload: payload)
    }

    /// Returns the initial state of a task that is claimed and completed at once, with the events of both steps.
    /// - Throws: `task.wrong_state` for a task that does not begin at once.
    mutating func answered(_ birth: Birth, _ end: NewTask.End) throws(TransferError) -> Birth {
        let life = try life(from: birth.status, to: end.result)
        let events = birth.events + life.begun + [event(.taskResponse, end.response.told)] + life.ended
        return Birth(status: life.status, events: events, expiry: nil)
    }

    private mutating func life(from status: TaskStatus, to result: TaskResult) throws(TransferError) -> Life {
        if let last, last.result == result, status.state == .queued { return last }
        let now = batch.transitions.clocks.reading(batch.now, of: batch.key)
        var machine = TaskMachine(status)
        let begun = try events(of: machine.handle(.claimed, at: now))
        var ended = try events(of: machine.handle(.completed(result, duration: 0), at: now))
        for index in ended.indices { ended[index].ended = .data }
        last = (result, machine.status, begun, ended)
        return (result, machine.status, begun, ended)
    }
}
