import DaemonKit
import FileKit
import TestSupport
import TransferModel

/// The tasks that clients add: downloads, uploads and short requests of all kinds.
extension Client {
    /// - Parameter asking: The task's session asks whether to trust a server.
    func newTask(asking: Bool) throws -> (TaskSpec, Known) {
        let name = "f\(made)"
        made += 1
        var new: (spec: TaskSpec, known: Known)
        switch world.random.below(100) {
        case 0..<60: new = download(name, from: resource(asking: asking))
        case 60..<88: new = try upload(name)
        default: new = try request(name)
        }
        if world.random.chance(100) {
            new.spec.earliestBeginAt = world.now.advanced(by: Seconds(Double(world.random.below(200))))
        }
        world.machine.restrict(&new.spec)
        return new
    }

    /// Without questions, the certificates of TLS servers fail most tasks at once: few are worth the time.
    func resource(asking: Bool) -> Int {
        let number = world.random.below(world.resources.count)
        guard !asking, world.resources[number].isSecure, world.random.chance(800) else { return number }
        return world.resources.first { !$0.isSecure }?.number ?? number
    }

    func download(_ name: String, from resource: Int) -> (TaskSpec, Known) {
        wanted[name] = [resource]
        let connections = 1 + world.random.below(Self.mostConnections)
        var spec = TaskSpec()
        spec.url = world.resources[resource].url
        spec.destination = Destination(path: world.folder + "/out/" + name)
        spec.connections = connections
        if made.isMultiple(of: 4) {
            spec.acceptsAnyStatus = true
            wanted[name]?.insert(Self.refusal)
        }
        return (spec, Known(connections: connections, file: name))
    }

    private func upload(_ name: String) throws -> (TaskSpec, Known) {
        let kinds: [UploadTarget.Kind] = [
            .put, .post, .form, .form, .contentRange, .tus, .tus, .resumable, .resumable, .s3, .s3, .s3,
        ]
        let kind = kinds[world.random.below(kinds.count)]
        let isKept = world.random.chance(250)
        let content = world.random.bytes(isKept ? world.random.below(20_000) : world.random.fileLength())
        let path = isKept ? nil : world.folder + "/in/" + name
        let source = try Source(content, path: path)
        let target = UploadTarget(world, name, kind, source)
        world.server.add(target)
        var spec = TaskSpec()
        spec.kind = .upload
        spec.url = target.url
        if let path {
            spec.source = SourceFile(path: path)
            sources.append(source)
        } else {
            spec.body = kept(content)
        }
        spec.uploadProtocol = target.uploadProtocol
        spec.s3 = target.s3?.presigned
        target.form?.fill(&spec)
        if kind == .resumable {
            spec.interopVersion = target.interopVersion
            if world.random.chance(400) { spec.uploadCreation = "optimistic" }
        }
        return (spec, Known(connections: 1, target: name))
    }

    private func request(_ name: String) throws -> (TaskSpec, Known) {
        if world.random.chance(400) {
            let resource = world.random.below(world.resources.count)
            var spec = TaskSpec()
            (spec.kind, spec.url) = (.data, world.resources[resource].url)
            return (spec, Known(connections: Self.mostConnections, resource: resource))
        }
        let method = ["GET", "PUT", "POST", "POST"][world.random.below(4)]
        let content = method == "GET" ? [] : world.random.bytes(world.random.below(5000))
        let target = UploadTarget(world, name, .data, try Source(content, path: nil), method: method)
        world.server.add(target)
        var spec = TaskSpec()
        spec.kind = .data
        spec.url = target.url
        spec.method = method
        if method != "GET" { spec.body = kept(content) }
        return (spec, Known(connections: 1, target: name))
    }

    /// A body that the daemon stores itself.
    private func kept(_ content: [UInt8]) -> RequestBody {
        var body = RequestBody()
        body.base64 = Base64Text.encode(content)
        return body
    }

    /// Each retry that a client asks for may do again what the first run may do.
    func noteRenewal(_ action: TaskAction, _ id: TaskID) {
        guard let target = tasks[id]?.target.flatMap({ world.server.targets[$0] }) else { return }
        switch action {
        case .retry, .resend, .cancel, .remove: target.renewals += 1
        case .pause, .resume: break
        }
    }

    /// Only the client itself can end an upload that it started at S3.
    func gaveUp(_ id: TaskID) {
        guard let store = tasks[id]?.target.flatMap({ world.server.targets[$0] })?.s3, world.random.chance(300)
        else { return }
        store.end()
    }

    /// A client changes a file while it is sent.
    func changeSource() throws {
        guard !sources.isEmpty else { return }
        let source = sources[world.random.below(sources.count)]
        guard source.version < 3 else { return }
        try source.change(&world.random)
        world.note("\(source.path?.split(separator: "/").last ?? "") is changed")
        for target in world.server.targets.values where target.source === source { target.sourceChanged() }
    }
}
