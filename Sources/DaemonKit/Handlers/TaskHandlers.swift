import TransferModel
import TransferRPC
import TransferStore

/// task.add, task.get, task.list, task.update, task.resumeData, task.body and task.credit.
enum TaskHandlers {
    static func register(in table: inout HandlerTable, _ services: Services) {
        table.add(Methods.addTasks) { parameters, context in
            guard !parameters.tasks.isEmpty else {
                throw TransferError.bad("tasks", "name at least one task.")
            }
            let key = SessionKey(
                owner: context.peer.uid, identifier: parameters.session ?? SessionKey.sharedIdentifier)
            let added = try await services.tasks(of: key, context).adder.add(
                parameters.tasks, session: parameters.session, by: context.peer)
            return AddedTasks(tasks: added)
        }
        table.add(Methods.getTask) { parameters, context in
            let services = try await services.tasks(of: parameters.id, context)
            let record = try await services.reader.record(parameters.id, for: context.peer)
            let revealed = try await Self.revealed(record, parameters, services, context.peer)
            let isRunning = record.status.state == .running
            let segments = isRunning ? services.reader.segments(record.id) : []
            let queueing = record.status.state == .queued ? await services.reader.queueing(of: record) : nil
            let trouble = isRunning ? await services.reader.trouble(of: record) : nil
            var view = Self.view(record, services).with(queueing).with(trouble: trouble).with(
                segments: segments, of: record
            ).with(try await services.reader.metrics(of: record))
            if let revealed { return revealed.shown(in: view) }
            if view.response?.headersTruncated == true, let head = try await services.reader.wholeHead(of: record.id) {
                view.response?.show(head.headers)
            }
            return view
        }
        table.add(writing: Methods.listTasks) { parameters, context in
            let page = try await Self.page(parameters, context, services)
            var views: [ListedTaskView] = []
            views.reserveCapacity(page.tasks.count)
            for task in page.tasks {
                let services = task.record.id.isVolatile ? services.volatile.services : services.durable
                do {
                    views.append(try Self.listed(task, services))
                } catch let error as TransferError where error.code == .internal {
                    // The page cannot be read. Reading the task alone sets it aside, unless it has been removed
                    // meanwhile.
                    do {
                        let record = try await services.reader.record(task.record.id, for: context.peer)
                        views.append(ListedTaskView(Self.view(record, services)))
                    } catch let error as TransferError where error.code == .taskNotFound {
                        continue
                    }
                }
            }
            return ListedTaskView.page(views, total: page.total, nextCursor: page.nextCursor)
        }
        table.add(Methods.updateTask) { parameters, context in
            let services = try await services.tasks(of: parameters.id, context)
            return Self.view(try await services.updater.update(parameters, by: context.peer), services)
        }
        table.add(Methods.takeResumeData) { parameters, context in
            let services = try await services.tasks(of: parameters.id, context)
            return TakenResumeData(
                resumeData: try await services.updater.resumeData(parameters.id, by: context.peer))
        }
        table.add(Methods.readBody) { parameters, context in
            let length = try Self.pieceLength(parameters)
            let services = try await services.tasks(of: parameters.id, context)
            let piece = try await services.reader.body(
                parameters.id, from: ByteCount(parameters.offset ?? 0), atMost: ByteCount(length), for: context.peer)
            return BodyData(data: piece.bytes.base64, eof: piece.isLast)
        }
        table.add(Methods.giveCredit) { parameters, context in
            guard parameters.bytes > 0 else {
                throw TransferError.bad("bytes", "1 or more.")
            }
            let stream = try await Self.stream(of: parameters.id, context, services)
            return Credit(credit: stream.give(ByteCount(parameters.bytes)).rawValue)
        }
    }

    /// - Throws: `task.not_found`, also for a volatile task of another connection; `request.bad_field` if the body is
    ///   kept.
    private static func stream(
        of task: TaskID, _ context: RequestContext, _ services: Services
    ) async throws -> BodyStream {
        let streams = services.volatile.streams
        if let known = streams[task], known.client == context.connection.id { return known }
        let reader = try await services.tasks(of: task, context).reader
        let record = try await reader.record(task, for: context.peer)
        guard let stream = streams.stream(of: task, record.spec, in: record.session) else {
            throw TransferError.bad("id", "task \(task) does not stream its body; it was added without `stream`.")
        }
        do {
            // The task may have been removed before its stream was there.
            _ = try await reader.record(task, for: context.peer)
        } catch {
            streams.forget(task)
            throw error
        }
        return stream
    }

    /// One session is in one store. Wider lists include the connection's volatile tasks.
    /// - Throws: `session.in_use`.
    private static func page(
        _ parameters: ListTasks, _ context: RequestContext, _ services: Services
    ) async throws -> (tasks: [ListedTask], total: Int?, nextCursor: String?) {
        let scope = try context.scope(parameters.owner)
        let query = try query(parameters, scope: scope)
        if let identifier = query.session, let owner = query.owner {
            let store = try services.tasks(of: SessionKey(owner: owner, identifier: identifier), context).store
            let page = try await store.read { try $0.page(query) }
            return (page.tasks, page.total, page.nextCursor)
        }
        let pages = TaskPages(
            query, durable: services.durable.store, volatile: services.volatile.services.store,
            sessions: services.volatile.own(context, in: scope), of: context.peer.uid)
        return try await pages.page()
    }

    /// Returns nil if the caller does not ask for secrets.
    /// - Throws: `permission.denied` for another user's task, even if an administrator asks.
    private static func revealed(
        _ record: TaskRecord, _ parameters: GetTask, _ services: TaskServices, _ peer: Peer
    ) async throws -> RevealedTask? {
        guard parameters.secrets == true else { return nil }
        guard record.session.owner == peer.uid else {
            throw TransferError.bad("secrets", "only the owner of task \(record.id) may see them.", .permissionDenied)
        }
        return RevealedTask(record: record, exchange: try await services.reader.exchange(of: record.id))
    }

    static func view(_ record: TaskRecord, _ services: TaskServices) -> TaskView {
        TaskView(record, live: live(record, services))
    }

    private static func listed(_ task: ListedTask, _ services: TaskServices) throws -> ListedTaskView {
        let response = task.responseText.flatMap { ResponseInfo.Shareable($0) }
        guard let members = TaskSpec.shareable(task.specText), (response == nil) == (task.responseText == nil) else {
            return ListedTaskView(view(try task.whole(), services))
        }
        return ListedTaskView(task.record, members: members, response: response, live: live(task.record, services))
    }

    private static func live(_ record: TaskRecord, _ services: TaskServices) -> LiveFigures? {
        record.status.state == .running ? services.reader.live(record.id) : nil
    }

    /// - Throws: `request.bad_field`.
    private static func pieceLength(_ parameters: ReadBody) throws(TransferError) -> Int64 {
        guard (parameters.offset ?? 0) >= 0 else {
            throw TransferError.bad("offset", "0 or more.")
        }
        let length = parameters.length ?? ReadBody.largestPiece
        guard (1...ReadBody.largestPiece).contains(length) else {
            throw TransferError.bad("length", "from 1 to \(ReadBody.largestPiece).")
        }
        return length
    }

    private static func query(_ parameters: ListTasks, scope: OwnerScope) throws(TransferError) -> TaskQuery {
        var query = TaskQuery(owner: scope.owner, session: parameters.session)
        query.states = parameters.states.map { Set($0) }
        query.kinds = parameters.kinds.map { Set($0) }
        query.range = parameters.range?.range
        if let match = parameters.match, match.utf8.count > longestMatch {
            throw TransferError.bad("match", "at most \(longestMatch) bytes.")
        }
        query.match = parameters.match
        query.ids = try selection(parameters.ids, "ids")
        query.tags = try selection(parameters.tags, "tags", most: Bounds.tags)
        query.clientTokens = try selection(parameters.clientTokens, "clientTokens")
        query.cursor = parameters.cursor
        query.offset = parameters.offset ?? 0
        query.countsAll = parameters.total ?? false
        guard parameters.offset == nil || query.cursor == nil else {
            throw TransferError.bad("offset", "say either offset or cursor.")
        }
        guard query.offset >= 0 else { throw TransferError.bad("offset", "0 or more.") }
        query.limit = try pageSize(
            parameters.limit, default: ListTasks.defaultLimit, largest: ListTasks.largestLimit)
        switch parameters.order {
        case .oldest, nil: query.order = .oldest
        case .newest: query.order = .newest
        case .queue: query.order = .queue
        case .finished: query.order = .finished
        case .activity: query.order = .activity
        }
        if query.namesTasks, ![.oldest, .newest].contains(query.order) {
            throw TransferError.bad("order", "with ids, tags or clientTokens say oldest or newest.")
        }
        return query
    }

    /// - Throws: `request.bad_field` if there are more values than a call may name.
    private static func selection<Value>(
        _ values: [Value]?, _ field: String, most: Int = ListTasks.largestSelection
    ) throws(TransferError) -> [Value]? {
        guard let values, values.count > most else { return values }
        throw TransferError.bad(field, "at most \(most) in one call.")
    }

    private static let longestMatch = Bounds.match

    /// - Throws: `request.bad_field`.
    static func pageSize(_ asked: Int?, default standard: Int, largest: Int) throws(TransferError) -> Int {
        guard let asked else { return standard }
        guard (1...largest).contains(asked) else {
            throw TransferError.bad("limit", "from 1 to \(largest).")
        }
        return asked
    }
}
