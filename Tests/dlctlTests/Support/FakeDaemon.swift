import Foundation
import JSONRPC
import Threading
import TransferModel
import TransferRPC

/// A daemon on a real socket that keeps tasks in memory, for tests that run dlctl as a process.
final class FakeDaemon: RequestHandler {
    private struct State {
        var tasks: [TaskID: TaskRecord] = [:]
        var events: [EventRecord] = []
        /// The number of the oldest kept event.
        var first: Int64 = 1
        var subscriptions: [(connection: RPCConnection, name: String)] = []
        var adds: [Int] = []
        var acknowledged: [String: SequenceNumber] = [:]
        var bodies: [TaskID: [UInt8]] = [:]
        var fates: [TaskID: RemovedFile] = [:]
        var nextID: Int64 = 1
        var cookies: [Cookie] = []
    }

    private let state = Guarded(State())
    let socket: String
    private let server = Guarded<RPCServer?>(nil)

    init(socket: String) { self.socket = socket }

    func start() async throws {
        let server = try await RPCServer.start(on: .path(SocketPath(socket)), handler: self)
        self.server.withLock { $0 = server }
    }

    func stop() async { await server.withLock { $0 }?.stop() }

    /// The number of tasks in each task.add call so far.
    var adds: [Int] { state.withLock { $0.adds } }
    var specs: [TaskSpec] { state.withLock { $0.tasks.values.sorted { $0.id < $1.id }.map(\.spec) } }
    var acknowledged: [String: SequenceNumber] { state.withLock { $0.acknowledged } }
    /// The cookies of cookies.set.
    var cookies: [Cookie] { state.withLock { $0.cookies } }
    var subscribers: Int { state.withLock { $0.subscriptions.count } }

    /// Sets the answer to `task.body`.
    func keep(_ body: [UInt8], of task: TaskID) { state.withLock { $0.bodies[task] = body } }

    /// Sets what `task.remove` reports about the files that it should delete.
    func answer(_ files: RemovedFile...) {
        state.withLock { state in for file in files { state.fates[file.id] = file } }
    }

    func put(_ record: TaskRecord) {
        state.withLock { state in
            state.tasks[record.id] = record
            state.nextID = max(state.nextID, record.id.rawValue + 1)
        }
    }

    /// Removes the events before this one.
    func expire(before first: Int64) { state.withLock { $0.first = first } }

    /// Appends an event and sends it to every subscriber. `change` makes the task agree with the event.
    func happen(
        _ type: EventType, _ task: TaskID, _ payload: [String: JSONValue] = [:],
        change: (inout TaskRecord) -> Void = { _ in }
    ) throws {
        let (record, subscriptions) = state.withLock { state in
            if var task = state.tasks[task] {
                change(&task)
                state.tasks[task.id] = task
            }
            let record = EventRecord(
                sequence: SequenceNumber(Int64(state.events.count + 1)), time: .now(), type: type,
                session: .shared(of: UserID(0)), task: task, payload: JSONMembers(payload))
            state.events.append(record)
            return (record, state.subscriptions)
        }
        for subscription in subscriptions { try send(record, subscription.connection, subscription.name) }
    }

    private func send(_ record: EventRecord, _ connection: RPCConnection, _ name: String) throws {
        let view = JSONCoding.encode(EventView(record, subscription: name))
        connection.send(Array(#"{"jsonrpc":"2.0","method":"event","params":"#.utf8), view, Array("}".utf8))
    }

    func opened(_ connection: RPCConnection) {}

    func closed(_ connection: RPCConnection) {
        state.withLock { $0.subscriptions.removeAll { $0.connection === connection } }
    }

    func answer(_ request: RPCRequest, from connection: RPCConnection) async -> RPCAnswer {
        do {
            return try respond(request, connection)
        } catch {
            let error = error as? TransferError ?? TransferError(.internal, "\(error)")
            let details = JSONCoding.encode(error.details)
            return RPCAnswer(
                .failure(
                    RPCError(
                        code: error.code.rpcCode, message: error.message, cause: error.code.rawValue,
                        retryable: error.retryable, details: details)))
        }
    }

    private func respond(_ request: RPCRequest, _ connection: RPCConnection) throws -> RPCAnswer {
        let text = request.parameters ?? Array("{}".utf8)
        switch request.method {
        case Methods.addTasks.name: return try result(add(JSONCoding.decode(AddTasks.self, from: text)))
        case Methods.getTask.name: return try result(get(JSONCoding.decode(GetTask.self, from: text).id))
        case Methods.listTasks.name: return try result(list(JSONCoding.decode(ListTasks.self, from: text)))
        case Methods.cancelTasks.name: return try result(cancel(JSONCoding.decode(CancelTasks.self, from: text)))
        case Methods.removeTasks.name: return try result(remove(JSONCoding.decode(RemoveTasks.self, from: text)))
        case Methods.setCookies.name: return try result(set(JSONCoding.decode(SetCookies.self, from: text).cookies))
        case Methods.listCookies.name:
            return result(ListedCookies(cookies: cookies.map { CookieView($0, secrets: true) }))
        case Methods.readBody.name: return try result(read(JSONCoding.decode(ReadBody.self, from: text)))
        case Methods.pauseTasks.name: return try result(pause(JSONCoding.decode(ControlSelection.self, from: text)))
        case Methods.listEvents.name: return try result(events(JSONCoding.decode(ListEvents.self, from: text)))
        case Methods.subscribe.name: return try subscribe(JSONCoding.decode(Subscribe.self, from: text), connection)
        case Methods.unsubscribe.name:
            let name = try JSONCoding.decode(Unsubscribe.self, from: text).subscription
            state.withLock { $0.subscriptions.removeAll { $0.connection === connection && $0.name == name } }
            return result(Nothing())
        case Methods.acknowledgeEvents.name:
            let parameters = try JSONCoding.decode(AcknowledgeEvents.self, from: text)
            state.withLock { $0.acknowledged[parameters.subscriber] = parameters.sequence }
            return result(Nothing())
        case Methods.daemonInfo.name:
            return result(
                DaemonInfo(
                    name: "dld", version: "1", protocol: 1, pid: 1, uid: UserID(0), mode: .user, socket: socket,
                    stateDirectory: "/state", startedAt: .now(), libcurl: "8", sqlite: "3", features: []))
        case Methods.getSettings.name:
            return result(SettingsView([.downloadRateLimit: SettingView(value: 0, origin: .default)]))
        case Methods.listSettings.name: return result(SettingsInForce(settings: [], files: [], problem: nil))
        default: throw TransferError(.rpcUnknownMethod, "not faked: \(request.method)")
        }
    }

    private func result(_ value: some WireValue) -> RPCAnswer {
        RPCAnswer(.success(JSONCoding.encode(value)))
    }

    private func add(_ parameters: AddTasks) throws -> AddedTasks {
        if let bad = parameters.tasks.first(where: { $0.url?.hasPrefix("gopher:") == true }) {
            throw TransferError(
                .badURL, "tasks[0].url: dld does not speak \(bad.url ?? "")", details: ["field": "tasks[0].url"])
        }
        for (index, task) in parameters.tasks.enumerated() {
            guard let bad = task.cookies?.firstIndex(where: { $0.domain == "co.uk" }) else { continue }
            let field = "tasks[\(index)].cookies[\(bad)].domain"
            throw TransferError(
                .badField, "\(field): it is a public suffix; set hostOnly.", details: ["field": .string(field)])
        }
        return state.withLock { state in
            state.adds.append(parameters.tasks.count)
            return AddedTasks(
                tasks: parameters.tasks.map { spec in
                    if let token = spec.clientToken,
                        let known = state.tasks.values.first(where: { $0.spec.clientToken == token })
                    {
                        return AddedTask(id: known.id, state: known.status.state, existing: true)
                    }
                    let id = TaskID(state.nextID)
                    state.nextID += 1
                    state.tasks[id] = TaskRecord(
                        id: id, session: .shared(of: UserID(0)), spec: spec,
                        status: TaskStatus(state: spec.startPaused == true ? .paused : .queued, createdAt: .now()),
                        host: "", position: Double(id.rawValue))
                    let earlier = state.tasks.values.filter { $0.spec.url == spec.url && $0.id < id }.map(\.id).min()
                    return AddedTask(
                        id: id, state: spec.startPaused == true ? .paused : .queued, duplicateOf: earlier)
                })
        }
    }

    /// Has these cookies from now on, whoever set them.
    func keep(_ cookies: [Cookie]) { state.withLock { $0.cookies = cookies } }

    /// Sets all cookies or none. Like the daemon, refuses cookies of a public suffix.
    private func set(_ cookies: [Cookie]) throws -> StoredCookies {
        if let index = cookies.firstIndex(where: { $0.domain == "co.uk" }) {
            let field = "cookies[\(index)].domain"
            throw TransferError(.badField, "\(field): set hostOnly.\u{1B}", details: ["field": .string(field)])
        }
        return state.withLock { state in
            let unchanged = cookies.count { state.cookies.contains($0) }
            let known = cookies.count { cookie in state.cookies.contains { $0.key == cookie.key } }
            state.cookies.removeAll { old in cookies.contains { $0.key == old.key } }
            state.cookies += cookies
            return StoredCookies(set: cookies.count, replaced: known - unchanged, unchanged: unchanged)
        }
    }

    private func get(_ id: TaskID) throws -> TaskView {
        guard let record = state.withLock({ $0.tasks[id] }) else {
            throw TransferError(.taskNotFound, "There is no task \(id).")
        }
        return TaskView(record)
    }

    private func read(_ piece: ReadBody) throws -> BodyData {
        guard let body = state.withLock({ $0.bodies[piece.id] }) else {
            throw TransferError(.taskWrongState, "Task \(piece.id) keeps no body.")
        }
        let rest = body.dropFirst(Int(piece.offset ?? 0))
        let taken = rest.prefix(Int(ReadBody.largestPiece))
        return BodyData(data: Data(taken).base64EncodedString(), eof: taken.count == rest.count)
    }

    private func list(_ query: ListTasks) -> ListedTasks {
        let records = state.withLock { $0.tasks.values.sorted { $0.id < $1.id } }
        return ListedTasks(paging: records.map { TaskView($0) }, query)
    }

    private func cancel(_ parameters: CancelTasks) -> ControlResult {
        let ids = parameters.selection.ids ?? []
        for id in ids { state.withLock { $0.tasks[id]?.status.state = .cancelled } }
        return ControlResult(changed: ids)
    }

    /// Like the daemon, removes only ended tasks.
    private func remove(_ parameters: RemoveTasks) -> ControlResult {
        state.withLock { state in
            var outcome = ControlResult()
            for id in parameters.selection.ids ?? [] {
                if state.tasks[id]?.status.state.isFinal == true {
                    state.tasks[id] = nil
                    outcome.changed.append(id)
                } else {
                    outcome.skipped.append(.init(id: id, code: .taskWrongState))
                }
            }
            if parameters.deleteFile == true { outcome.files = outcome.changed.compactMap { state.fates[$0] } }
            return outcome
        }
    }

    private func pause(_ selection: ControlSelection) -> ControlResult {
        state.withLock { state in
            var outcome = ControlResult()
            for id in selection.ids ?? Array(state.tasks.keys) {
                if state.tasks[id] == nil {
                    outcome.skipped.append(.init(id: id, code: .taskNotFound))
                } else {
                    // As if no running task could be resumed.
                    if state.tasks[id]?.status.state == .running {
                        outcome.warnings = (outcome.warnings ?? []) + [.init(id: id, message: "It begins again.")]
                    }
                    state.tasks[id]?.status.state = .paused
                    outcome.changed.append(id)
                }
            }
            return outcome
        }
    }

    private func from(_ position: EventPosition?, _ events: [EventRecord], default start: Int64) -> Int {
        switch position {
        case .start: 0
        case .now: events.count
        case .after(let number): Int(min(number.rawValue, Int64(events.count)))
        case nil: Int(start)
        }
    }

    private func events(_ query: ListEvents) -> ListedEvents {
        let (events, first) = state.withLock { ($0.events, $0.first) }
        let start = max(from(query.after, events, default: 0), Int(first) - 1)
        let selected = events.dropFirst(start).filter { event in
            query.types?.contains(event.type) ?? true
                && query.tasks.map { event.task.map($0.contains) ?? false } ?? true
        }
        let page = selected.prefix(query.limit ?? 100)
        return ListedEvents(
            events: page.map { EventView($0) },
            nextAfter: page.count < selected.count ? page.last?.sequence : nil, first: SequenceNumber(first),
            head: SequenceNumber(Int64(events.count)))
    }

    private func subscribe(_ query: Subscribe, _ connection: RPCConnection) throws -> RPCAnswer {
        let (replay, answer) = state.withLock { state in
            let name = "s\(state.subscriptions.count + 1)"
            let acknowledged = query.subscriber.flatMap { state.acknowledged[$0] }
            let start = acknowledged?.rawValue ?? (query.subscriber == nil ? Int64(state.events.count) : 0)
            state.subscriptions.append((connection, name))
            let after = from(query.after, state.events, default: start)
            let answer = Subscribed(
                subscription: name, after: SequenceNumber(Int64(after)),
                head: SequenceNumber(Int64(state.events.count)))
            return (Array(state.events.dropFirst(after)), answer)
        }
        return RPCAnswer(.success(JSONCoding.encode(answer))) {
            for event in replay { try? self.send(event, connection, answer.subscription) }
        }
    }
}
