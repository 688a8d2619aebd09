import TransferCore
import TransferModel
import TransferStore

/// The tasks of one `task.add` on their way into one transaction: rows and events are gathered and stored together,
/// which costs a third of storing them one by one.
struct AddBatch {
    let key: SessionKey
    let configuration: SessionConfiguration
    let now: ClockReading
    let transitions: TaskTransitions
    let storeID: String

    /// What the answer says of a task of the call.
    private enum Place {
        /// Its client token added it before.
        case known(AddedTask)
        case new(Int)
    }

    private var places: [Place] = []
    private var tasks: [NewTask] = []
    /// One list a task.
    private var events: [[EventRecord]] = []
    /// Places of the tokens that this call brought itself.
    private var tokens: [String: Int] = [:]
    private var expiries: [Lifetime: Timestamp?] = [:]

    /// What a new task's expiry depends on.
    private struct Lifetime: Hashable {
        var timeout: Seconds?
        var counts: Bool
    }

    init(
        key: SessionKey, configuration: SessionConfiguration, now: ClockReading, transitions: TaskTransitions,
        storeID: String
    ) {
        self.key = key
        self.configuration = configuration
        self.now = now
        self.transitions = transitions
        self.storeID = storeID
    }

    mutating func take(_ task: AdmittedTask, in transaction: StoreTransaction) throws {
        if let token = task.spec.clientToken {
            if let place = tokens[token] {
                places.append(.new(place))
                return
            }
            if let known = try known(token, in: transaction) {
                places.append(.known(known))
                return
            }
            tokens[token] = tasks.count
        }
        places.append(.new(tasks.count))
        let (status, effects) = TaskMachine.added(
            startPaused: task.spec.startPaused ?? false, earliestBeginAt: task.spec.earliestBeginAt, at: now)
        var new = NewTask(session: key, spec: task.spec, status: status, host: task.host)
        new.specText = task.specText
        new.destinationDevice = task.destinationDevice
        new.checkpoint = try handedOver(task.checkpoint, in: transaction)
        new.source = task.source
        new.requestBody = task.requestBody
        new.resourceTimeoutAt = expiry(of: task.spec, status)
        tasks.append(new)
        var published: [EventRecord] = []
        for case .publish(let type, let payload) in effects {
            published.append(EventRecord(time: now.wall, type: type, session: key, payload: payload))
        }
        events.append(published)
    }

    /// - Returns: one entry for each task taken, in order.
    func store(in transaction: StoreTransaction) throws -> [AddedTask] {
        let ids = try transaction.insert(tasks)
        var log: [EventRecord] = []
        log.reserveCapacity(events.count)
        for (id, published) in zip(ids, events) {
            for var event in published {
                event.task = id
                log.append(event)
            }
        }
        try transaction.append(log)
        return places.map { place in
            switch place {
            case .known(let task): task
            case .new(let index): AddedTask(id: ids[index], state: tasks[index].status.state)
            }
        }
    }

    private mutating func expiry(of spec: TaskSpec, _ status: TaskStatus) -> Timestamp? {
        let lifetime = Lifetime(timeout: spec.timeoutIntervalForResource, counts: status.budgetMark != nil)
        if let expiry = expiries[lifetime] { return expiry }
        let expiry = transitions.expiry(of: spec, status, configuration, at: now)
        expiries[lifetime] = .some(expiry)
        return expiry
    }

    private func known(_ token: String, in transaction: StoreTransaction) throws -> AddedTask? {
        let horizon = now.wall.advanced(by: Seconds(-Supervisor.tokenLifetime))
        guard
            let id = try transaction.taskID(clientToken: token, owner: key.owner, notBefore: horizon),
            let record = try transaction.task(id)
        else { return nil }
        return AddedTask(id: id, state: record.status.state)
    }

    /// A part that came with resume data changes hands: the task that had it forgets it, so that no two tasks ever
    /// write to one file or take one delivery for theirs. One that is at work again keeps it.
    private func handedOver(
        _ checkpoint: Checkpoint?, in transaction: StoreTransaction
    ) throws -> Checkpoint? {
        guard let checkpoint,
            let holder = PartName.task(of: TransferFiles.lastComponent(checkpoint.partPath), store: storeID),
            let record = try transaction.task(holder), let held = record.checkpoint,
            held.device == checkpoint.device, held.inode == checkpoint.inode
        else { return checkpoint }
        guard record.status.state.isFinal else { return nil }
        try transaction.setCheckpoint(holder, nil)
        return checkpoint
    }
}
