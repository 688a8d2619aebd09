import FileKit
import Glibc
import TransferModel
import TransferStore

/// Checks the results of uploads and data tasks: at their servers, in their sources and in the store. The servers
/// themselves notice wrong bytes.
final class UploadChecker {
    private unowned let world: World
    /// Ended tasks that were found correct, with their status at that time.
    private var proven: [TaskID: TaskStatus] = [:]

    init(_ world: World) { self.world = world }

    /// Checks what must hold at any moment.
    /// - Parameter tasks: The tasks that clients know.
    func check(_ tasks: [TaskHead], _ snapshot: StoreSnapshot) throws {
        try checkSources()
        let over = tasks.filter { $0.kind != .download && $0.status.state.isFinal && proven[$0.id] != $0.status }
        for record in try over.isEmpty ? [] : snapshot.tasks(over.map(\.id)) {
            if let target = target(of: record) {
                switch record.status.state {
                case .completed: try check(record, target, snapshot)
                case .failed: try checkCause(record, target)
                case .queued, .running, .waiting, .paused, .cancelled: break
                }
            } else if record.spec.kind == .data, record.status.state == .completed {
                try checkFetch(record, snapshot)
            }
            proven[record.id] = record.status
        }
        for name in try world.names(in: "/state") where name.hasPrefix("body-") {
            throw Violation("\(name) is left of a body")
        }
    }

    private func target(of record: TaskRecord) -> UploadTarget? {
        guard record.spec.kind != .download else { return nil }
        return record.spec.url.flatMap { world.server.place(of: $0)?.target }
    }

    private func check(_ record: TaskRecord, _ target: UploadTarget, _ snapshot: StoreSnapshot) throws {
        guard target.isDone else { throw Violation("task \(record.id) is completed and \(target.url) has not all") }
        guard record.upload == nil else { throw Violation("what is known of an upload is left of task \(record.id)") }
        let id = record.id
        let (kept, answer) = (try snapshot.body(of: id, .request), try snapshot.body(of: id, .response))
        // The owner may want to see the body. All bodies are short here.
        guard kept == (record.spec.body == nil ? nil : target.source.contents.first) else {
            throw Violation("what is kept of task \(id) is not the body that it sent")
        }
        guard record.spec.kind == .data else { return }
        guard let answer, target.answers.contains(answer) else {
            throw Violation("task \(id) keeps \(answer?.count ?? -1) bytes that are of no version of its answer")
        }
    }

    /// A data task keeps one version of the resource that it requested.
    private func checkFetch(_ record: TaskRecord, _ snapshot: StoreSnapshot) throws {
        guard let resource = record.spec.url.flatMap({ Resource.number(inURL: $0) }).map({ world.resources[$0] }),
            let answer = try snapshot.body(of: record.id, .response),
            resource.versions.contains(where: { resource.content($0) == answer })
        else { throw Violation("data task \(record.id) keeps what is no version of its resource") }
    }

    /// These servers follow their protocols, and only clients change files.
    private func checkCause(_ record: TaskRecord, _ target: UploadTarget) throws {
        guard let error = record.status.error else { throw Violation("task \(record.id) failed without a cause") }
        let isExcused: Bool
        switch error.code {
        case .internal, .sourceUnreadable: isExcused = false
        case .httpProtocol: isExcused = target.s3?.explains(error) ?? false
        case .httpStatus: isExcused = target.s3?.explains(error) ?? true
        case .sourceChanged: isExcused = target.source.version > target.versions.lowerBound
        default: isExcused = true
        }
        if !isExcused { throw Violation("task \(record.id) failed without reason: \(error.message)") }
    }

    /// No source was changed or deleted, and no other file is next to them.
    private func checkSources() throws {
        let sources = world.client.sources
        for source in sources {
            guard let path = source.path else { continue }
            var status = stat()
            guard stat(path, &status) == 0 else { throw Violation("the source \(path) is gone") }
            guard Int(status.st_size) == source.contents[source.version].count, status.st_mtim.tv_sec == source.time
            else { throw Violation("the source \(path) was written to") }
        }
        if try world.names(in: "/in").count != sources.count { throw Violation("a file lies beside the sources") }
    }

    /// Checks at the end that servers were told of the uploads that nobody wants any more.
    func checkEnd() throws {
        let (records, endings) = try world.read { snapshot in
            let ids = try snapshot.select(TaskQuery(), after: nil, limit: 1000)
            return (try snapshot.tasks(ids), try snapshot.uploadEndings(limit: 1).count)
        }
        if endings > 0 { throw Violation("the ends of uploads never end") }
        let going = Set(
            records.compactMap { record in
                record.upload?.resourceURL.flatMap { world.server.place(of: $0) }
                    .map { "\($0.target.name)/\($0.upload ?? -1)" }
            })
        for (name, target) in world.server.targets.sorted(by: { $0.key < $1.key }) {
            for upload in target.uploads where upload.isKnown && !upload.isOver {
                guard going.contains("\(name)/\(upload.number)") else {
                    throw Violation("\(target.url)/\(upload.number) is left of an upload that nobody wants")
                }
            }
        }
    }
}
