import Glibc
import TransferModel

/// What an administrator lets the jobs of a node do (contract, section 3, `policy` and "Spec"). Producers are not
/// trusted with the node's files and network.
struct Policy: Hashable, Sendable {
    struct Folder: Hashable, Sendable {
        var path: String
        /// Every node of the fleet has the same folder at this path.
        var shared = false
    }

    var pools = ["default"]
    var kinds: [TaskKind] = [.download]
    var schemes = ["https"]
    /// Patterns `example.org` and `*.example.org`; nil: every host.
    var hosts: [String]?
    /// Downloads go below one of them; the first is the default.
    var folders: [Folder] = []
    /// Uploads and body files come from below one of them.
    var sources: [Folder] = []
    /// Names of header fields; `*`: all.
    var headers = ["Accept", "Accept-Language", "User-Agent"]
    var methods = ["GET", "HEAD"]
    var credentials = false

    /// Whether a redirect may lead to where the policy forbids to go.
    var judgesRedirects: Bool { hosts != nil || !["http", "https"].allSatisfy(names) }

    /// Defaults of the session `fleet`.
    var session: SessionConfiguration {
        var session = SessionConfiguration()
        session.subscriber = "fleet"
        session.asks = judgesRedirects ? [.redirect] : []
        session.allowsArbitraryLoads = allowsPlaintext
        return session
    }

    /// ftp is plaintext too: who lists it wants it.
    private var allowsPlaintext: Bool { names("http") || names("ftp") }

    private func names(_ scheme: String) -> Bool { schemes.contains { $0.lowercased() == scheme } }
}

// MARK: - Jobs

extension Policy {
    private static let members: Set<String> = [
        "kind", "url", "mirrors", "method", "headers", "body", "destination", "conflictPolicy", "source",
        "uploadProtocol", "fileName", "contentType", "checksum", "size", "pieces", "priority", "rateLimit",
        "connections", "timeoutIntervalForRequest", "timeoutIntervalForResource", "retry", "preserveTime",
        "description", "tags", "durability", "acceptsAnyStatus",
    ]
    private static let localCodes: Set<ErrorCode?> = [.diskFull, .diskQuota, .diskIO, .limitReached]
    private static let credentialMembers: Set<String> = ["username", "password", "bearer", "cookies"]
    private static let credentialHeaders: Set<String> = ["authorization", "cookie", "proxy-authorization"]
    private static let uploadMethods: Set<String> = ["PUT", "POST", "PATCH"]
    static let tag = "fleet"

    /// What dld is asked to do for a job.
    ///
    /// - Parameters:
    ///   - localAttempts: failures in a row after which dld gives up.
    ///   - resuming: whether the resume data that another node left is used.
    ///   - resolve: an absolute path without `..` whose existing part has no symbolic links any more; nil if that cannot
    ///     be told.
    /// - Throws: the permanent end of a job that the policy, or dld's own rules for a spec, forbid.
    func task(
        for job: LeasedJob, localAttempts: Int, resuming: Bool = false, resolve: (String) -> String?
    ) throws(JobError) -> TaskSpec {
        var spec = try decoded(job.spec)
        guard kinds.contains(spec.kind) else {
            throw JobError("policy.kind", "This node takes no jobs of the kind \(spec.kind.rawValue).")
        }
        guard let text = spec.url, let url = JobURL(text) else {
            throw JobError(ErrorCode.badURL.rawValue, "The job's url is missing or malformed.")
        }
        for address in [text] + (spec.mirrors ?? []) { try require(address) }
        try checkRequest(spec)
        if spec.kind == .upload, hosts != nil, url.scheme.hasPrefix("http") { try keepInSight(&spec) }
        let marks = try place(&spec, job, url, resolve)
        try checkSources(&spec, resolve)
        spec.priority = TaskPriority(min(max(0.5 + Double(job.priority) / 200, 0), 1))
        spec.clientToken = job.key.token
        spec.tags = (spec.tags ?? []).filter { $0 != Self.tag } + [Self.tag]
        spec.attributes = marks.union(job.limited ? .limited : []).attributes
        if !allowsPlaintext { spec.allowsArbitraryLoads = false }
        var retry = spec.retry ?? RetryPolicySpec()
        // 0 means unlimited.
        retry.attempts = retry.attempts.flatMap { $0 > 0 ? min($0, localAttempts) : nil } ?? localAttempts
        spec.retry = retry
        if resuming, let data = job.resume?["data"]?.stringValue {
            spec.resumeData = data
            // dld takes absent ones from the data, which nobody here has judged.
            spec.mirrors = spec.mirrors ?? []
        }
        return spec
    }

    /// With other protocols the server names the place that the bytes go to, and dld asks nobody about its host.
    private func keepInSight(_ spec: inout TaskSpec) throws(JobError) {
        switch spec.uploadProtocol {
        case nil where spec.method != nil: break  // dld derives `post` or `put` from it.
        case nil, "auto": spec.uploadProtocol = UploadProtocol.put.rawValue
        case "put", "post", "multipart": break
        case let other?:
            throw JobError(
                "policy.host",
                "This node uses some hosts only, so uploadProtocol must be put, post or multipart, not \(other).",
                details: ["field": "uploadProtocol"])
        }
    }

    /// - Returns: how a job ends whose server redirects to `url`; nil: the task may follow.
    func refusal(ofRedirectTo url: String) -> JobError? {
        guard let target = JobURL(url) else {
            return JobError("policy.host", "A redirect leads to an address that cannot be judged.")
        }
        return refusal(of: target)
    }

    /// The node is at fault, not the job, which is handed back uncounted: also if a folder of the policy, or one above it,
    /// cannot be written.
    func isLocal(_ error: JobError) -> Bool {
        let code = ErrorCode(rawValue: error.code)
        guard code == .destinationNotWritable, let path = error.details["path"]?.stringValue else {
            return Self.localCodes.contains(code)
        }
        // An unwritable file system is never the choice of a job.
        return error.details["errno"] == .integer(Int64(EROFS))
            || folders.contains { "\($0.path)/".hasPrefix(path == "/" ? path : path + "/") }
    }

    private func decoded(_ json: JSONValue) throws(JobError) -> TaskSpec {
        guard let given = json.objectValue?.filter({ $0.value != .null }) else {
            throw JobError("policy.field", "The job's spec is not an object.")
        }
        for name in given.keys.sorted() where !Self.members.contains(name) {
            guard Self.credentialMembers.contains(name) else {
                throw JobError(
                    "policy.field", "Jobs cannot have the member \(name).", details: ["field": .string(name)])
            }
            guard credentials else { throw Self.noCredentials(name) }
        }
        do throws(TransferError) {
            return try JSONCoding.decode(TaskSpec.self, from: JSONCoding.encode(JSONValue.object(given)))
        } catch {
            throw JobError(error)
        }
    }

    private static func noCredentials(_ field: String) -> JobError {
        JobError(
            "policy.credentials", "This node takes no jobs with credentials: \(field).",
            details: ["field": .string(field)])
    }

    private func refusal(of url: JobURL) -> JobError? {
        guard names(url.scheme) else {
            return JobError("policy.scheme", "This node does not use the scheme \(url.scheme).")
        }
        guard let hosts else { return nil }
        // Names beyond ASCII are mapped to others before they are resolved (UTS 46).
        let isAllowed =
            url.host.utf8.allSatisfy { $0 < 0x80 }
            && hosts.contains { pattern in
                let pattern = pattern.lowercased()
                guard pattern.hasPrefix("*.") else { return pattern == url.host && !pattern.isEmpty }
                return url.host.utf8.count > pattern.utf8.count - 1 && url.host.hasSuffix(pattern.dropFirst())
            }
        return isAllowed ? nil : JobError("policy.host", "This node does not use the host \(url.host).")
    }

    private func require(_ address: String) throws(JobError) {
        guard let url = JobURL(address) else {
            throw JobError(ErrorCode.badURL.rawValue, "A mirror of the job is malformed.")
        }
        if let refusal = refusal(of: url) { throw refusal }
        guard credentials || !url.hasUserInfo else { throw Self.noCredentials("user info in a URL") }
    }

    private func checkRequest(_ spec: TaskSpec) throws(JobError) {
        for header in spec.headers ?? [] {
            if Self.credentialHeaders.contains(header.name.lowercased()) {
                guard credentials else { throw Self.noCredentials(header.name) }
            } else if !headers.contains(where: { $0 == "*" || header.isNamed($0) }) {
                throw JobError("policy.header", "This node does not send the header \(header.name).")
            }
        }
        // dld sends a body by POST unless the spec says otherwise, and writes known methods in capitals.
        guard let method = spec.method?.uppercased() ?? (spec.kind == .upload || spec.body == nil ? nil : "POST")
        else { return }
        guard
            methods.contains(where: { $0.uppercased() == method })
                || spec.kind == .upload && Self.uploadMethods.contains(method)
        else { throw JobError("policy.method", "This node does not use the method \(method).") }
    }
}

// MARK: - Files

extension Policy {
    /// Names the destination of a download.
    private func place(
        _ spec: inout TaskSpec, _ job: LeasedJob, _ url: JobURL, _ resolve: (String) -> String?
    ) throws(JobError) -> TaskMarks {
        guard spec.kind == .download || spec.destination != nil else { return [] }
        guard let first = folders.first else {
            throw JobError("policy.folder", "This node has no folder for downloads.")
        }
        var destination = spec.destination ?? Destination()
        let texts = [destination.path, destination.directory, destination.filename].compactMap { $0 }
        let fill = { (text: String) in
            Self.filled(
                text, ["id": "\(job.key.id)", "pool": job.pool, "name": url.fileName ?? "job-\(job.key.id)"])
        }
        destination.isDefault = nil
        if destination.path == nil { destination.directory = destination.directory ?? first.path }
        destination.path = try destination.path.map { path throws(JobError) in try Self.plain(fill(path)) }
        destination.directory = try destination.directory.map { path throws(JobError) in try Self.plain(fill(path)) }
        destination.filename = destination.filename.map(fill)
        var places = [destination.path, destination.directory].compactMap { $0 }
        if let directory = destination.directory, let name = destination.filename {
            places.append(try Self.plain("\(directory)/\(name)"))
        }
        var folder = first
        for place in places {
            guard let found = Self.folder(of: place, in: folders, itself: place == destination.directory, resolve)
            else { throw JobError("policy.folder", "\(place) is not below a folder for downloads of this node.") }
            folder = found
        }
        spec.destination = destination
        if texts.contains(where: { $0.contains("{id}") }) { spec.conflictPolicy = spec.conflictPolicy ?? .overwrite }
        return (folder.shared ? TaskMarks.shared : []).union(spec.conflictPolicy == .overwrite ? .overwrites : [])
    }

    private func checkSources(_ spec: inout TaskSpec, _ resolve: (String) -> String?) throws(JobError) {
        if let path = spec.source?.path { spec.source?.path = try source(path, resolve) }
        if let path = spec.body?.file { spec.body?.file = try source(path, resolve) }
    }

    private func source(_ path: String, _ resolve: (String) -> String?) throws(JobError) -> String {
        let path = try Self.plain(path, code: "policy.source")
        guard Self.folder(of: path, in: sources, itself: false, resolve) != nil else {
            throw JobError("policy.source", "\(path) is not below a folder for uploads of this node.")
        }
        return path
    }

    /// The path without `.`, `..` and doubled slashes.
    private static func plain(_ path: String, code: String = "policy.folder") throws(JobError) -> String {
        guard path.utf8.first == UInt8(ascii: "/"), !path.utf8.contains(0) else {
            throw JobError(code, "A path of the job is not absolute.")
        }
        var kept: [String] = []
        for part in path.utf8.split(separator: UInt8(ascii: "/")).compactMap({ String($0) }) where part != "." {
            if part == ".." { _ = kept.popLast() } else { kept.append(part) }
        }
        return "/" + kept.joined(separator: "/")
    }

    /// The folder that holds a path, both with their links resolved. Bytes are compared: texts that look the same may be
    /// two files.
    private static func folder(
        of path: String, in folders: [Folder], itself: Bool, _ resolve: (String) -> String?
    ) -> Folder? {
        guard let path = resolve(path) else { return nil }
        return folders.first { folder in
            guard let plain = try? plain(folder.path), let base = resolve(plain) else { return false }
            return path.utf8.starts(with: (base == "/" ? base : base + "/").utf8) && path.utf8.count > base.utf8.count
                || itself && path.utf8.elementsEqual(base.utf8)
        }
    }

    /// Replaces `{id}` and its like, but not in what it put in.
    private static func filled(_ template: String, _ values: [String: String]) -> String {
        var (text, rest) = ("", template[...])
        while let open = rest.firstIndex(of: "{") {
            text += rest[..<open]
            rest = rest[open...]
            let name = rest.dropFirst().prefix { $0 != "}" }
            if let value = values[String(name)], name.endIndex < rest.endIndex {
                text += value
                rest = rest[rest.index(after: name.endIndex)...]
            } else {
                text += "{"
                rest = rest.dropFirst()
            }
        }
        return text + rest
    }
}
