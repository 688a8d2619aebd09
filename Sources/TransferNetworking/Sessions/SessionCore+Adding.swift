import TransferModel
import TransferRPC

// How tasks get into the daemon, and out of it.
extension SessionCore {
    func submit(_ task: URLSessionTask) {
        submissions.append(task)
        if submissions.count == 1 { queue.async { self.flush() } }
    }

    func flush() {
        guard !isAdding, !submissions.isEmpty else { return }
        isAdding = true
        let stores = [configuration.httpCookieStorage?.link, configuration.urlCredentialStorage?.link, StoreLink.user]
        settle(stores.compactMap { $0 }[...])
    }

    /// What the program has stored is to be in force for its next tasks.
    private func settle(_ stores: ArraySlice<StoreLink>) {
        guard let first = stores.first else {
            // Without a daemon, the tasks have ended.
            return whenConnected { [self] client in client == nil ? isAdding = false : addAll() }
        }
        first.whenSettled { [self] in queue.async { self.settle(stores.dropFirst()) } }
    }

    /// Most tasks of one call.
    private static let batch = 500

    private func addAll() {
        let asks = submissions.contains { $0.delegate != nil }
        guard !asks || isAsking else {
            isAsking = true
            return call(OpenSession.self, SessionOpening(self, asks: true).parameters) { [self] _ in addAll() }
        }
        var (tasks, specs): ([URLSessionTask], [TaskSpec]) = ([], [])
        var size = 0
        while tasks.count < Self.batch, size < 4 << 20, !submissions.isEmpty {
            let task = submissions.removeFirst()
            guard !task.course.isOver else { continue }
            do {
                let spec = try task.course.spec()
                size += spec.body?.base64?.utf8.count ?? 0
                tasks.append(task)
                specs.append(spec)
            } catch {
                task.course.end(Mapping.error(error, task.originalRequest?.url))
            }
        }
        guard !tasks.isEmpty else {
            isAdding = false
            return flush()
        }
        add(tasks, specs)
    }

    private func add(_ tasks: [URLSessionTask], _ specs: [TaskSpec]) {
        let generation = generation
        call(AddTasks.self, .init(session: name, tasks: specs)) { [self] result in
            guard generation == self.generation else {
                // A durable task may have been added: its token tells.
                return isVolatile
                    ? tasks.forEach { $0.course.end(URLError(.networkConnectionLost)) } : tasks.forEach { submit($0) }
            }
            switch result {
            case .success(let added):
                for (index, entry) in added.tasks.enumerated() where index < tasks.count {
                    let course = tasks[index].course
                    if !course.isOver { courses[entry.id] = course }
                    course.added(entry.id, paused: specs[index].startPaused == true)
                    for notice in early.removeValue(forKey: entry.id) ?? [] { course.received(.notice(notice)) }
                }
            case .failure(let error) where outlives(error):
                // They are added again over the next connection.
                submissions = tasks + submissions
                early = [:]
                isAdding = false
                return
            case .failure(let error): refused(tasks, specs, error)
            }
            early = [:]
            isAdding = false
            flush()
        }
    }

    /// Whether the daemon has not answered, and a background session waits until it is back.
    func outlives(_ error: any Error) -> Bool {
        !isVolatile && (error as? TransferError).map { $0.code == .shuttingDown } ?? true
    }

    /// One mistake refuses all tasks of a call: the others are added again.
    private func refused(_ tasks: [URLSessionTask], _ specs: [TaskSpec], _ error: any Error) {
        let field = (error as? TransferError)?.details["field"]?.stringValue ?? ""
        let culprit = field.hasPrefix("tasks[") ? Int(field.dropFirst(6).prefix { $0 != "]" }) : nil
        guard tasks.count > 1, let culprit, tasks.indices.contains(culprit) else {
            for task in tasks { task.course.end(Mapping.error(error, task.originalRequest?.url)) }
            return
        }
        tasks[culprit].course.end(Mapping.error(error, tasks[culprit].originalRequest?.url))
        submissions = tasks.enumerated().filter { $0.offset != culprit }.map(\.element) + submissions
    }

    /// Notices of the task go to another course from now on.
    func redirect(_ id: TaskID, to course: TaskCourse) { courses[id] = course }

    /// The daemon may forget the task.
    func drop(_ id: TaskID) {
        courses[id] = nil
        guard isVolatile else { return }
        dropped.append(id)
        if dropped.count == 1 {
            queue.asyncAfter(deadline: .now() + .milliseconds(50)) { [self] in
                let ids = dropped
                dropped = []
                guard !ids.isEmpty else { return }
                call(RemoveTasks.self, .init(ControlSelection(ids: ids))) { _ in }
            }
        }
    }
}
