import TestSupport
import Testing
import TransferModel

/// One way to upload, with a server for it and the conditions on its content.
struct UploadFaultSubject: Sendable, CustomTestStringConvertible {
    /// The properties that distinguish ways to upload.
    struct Kind: OptionSet, Sendable {
        let rawValue: Int
        static let tus = Kind(rawValue: 1)
        /// Resumable uploads, created before content is sent.
        static let draft = Kind(rawValue: 2)
        /// Resumable uploads, created with the content.
        static let optimistic = Kind(rawValue: 4)
        static let contentRange = Kind(rawValue: 8)
        static let s3 = Kind(rawValue: 16)
        static let put = Kind(rawValue: 32)
        static let post = Kind(rawValue: 64)
        static let multipart = Kind(rawValue: 128)

        /// The server is asked for the offset.
        static let resuming: Kind = [.tus, .draft, .optimistic, .contentRange]
        /// The upload resource is created first.
        static let creating: Kind = [.tus, .draft, .contentRange]
        static let drafts: Kind = [.draft, .optimistic]
        /// A request that is never repeated automatically.
        static let once: Kind = [.post, .multipart]
        static let plain: Kind = [.put, .post, .multipart]
        static let all: Kind = [.resuming, .s3, .plain]
    }

    static let size = 600_000
    /// More than the sockets of both sides hold, so that no request ends before its server has read further.
    static let largeSize = 6_000_000

    var testDescription: String
    var kind: Kind
    var content = Content(seed: 81, size: size)
    private(set) var partSize = 250_000
    private var options: [String: JSONValue] = [:]
    private var path = "/files/"
    private let makeRules: @Sendable () -> any UploadRules

    var rules: any UploadRules { makeRules() }

    static let all: [UploadFaultSubject] =
        [
            UploadFaultSubject(testDescription: "tus", kind: .tus) { TusRules() },
            UploadFaultSubject(testDescription: "contentRange", kind: .contentRange) { ContentRangeRules() },
            UploadFaultSubject(testDescription: "s3Multipart", kind: .s3, path: "/complete") { PartRules() },
            UploadFaultSubject(testDescription: "put", kind: .put, path: "/up") { PlainRules() },
            UploadFaultSubject(testDescription: "post", kind: .post, path: "/up") { PlainRules() },
            UploadFaultSubject(testDescription: "multipart", kind: .multipart, path: "/up") { PlainRules() },
        ]
        + [8, 6, 5, 3].map { version in
            UploadFaultSubject(
                testDescription: "resumable \(version)", kind: .draft,
                options: ["interopVersion": .integer(Int64(version))]
            ) { DraftRules(version: version) }
        }
        + [8, 6, 5, 3].map { version in
            UploadFaultSubject(
                testDescription: "optimistic \(version)", kind: .optimistic,
                options: ["interopVersion": .integer(Int64(version)), "uploadCreation": "optimistic"]
            ) { DraftRules(version: version, announces: true) }
        }

    private init(
        testDescription: String, kind: Kind, options: [String: JSONValue] = [:], path: String = "/files/",
        makeRules: @escaping @Sendable () -> any UploadRules
    ) {
        self.testDescription = testDescription
        self.kind = kind
        self.options = options
        self.path = path
        self.makeRules = makeRules
    }

    static func named(_ kind: Kind) -> UploadFaultSubject? { all.first { $0.kind == kind } }

    /// The same with a larger file and larger parts, of which something is always left while the server does not read.
    var large: UploadFaultSubject {
        var subject = self
        subject.content = Content(seed: 82, size: Self.largeSize)
        subject.partSize = 2_500_000
        return subject
    }

    private var protocolName: String {
        if kind.isSubset(of: .drafts) { return "resumable" }
        return kind == .s3 ? "s3Multipart" : testDescription
    }

    /// A task that sends `source` to this server. Four failures in a row end it, so that no fault lasts forever.
    func spec(_ server: UploadServer, source: String, _ more: [String: JSONValue] = [:]) -> JSONValue {
        var spec: [String: JSONValue] = [
            "kind": "upload", "url": .string(server.url(path)), "source": ["path": .string(source)],
            "uploadProtocol": .string(protocolName),
            "retry": ["attempts": 4, "firstDelay": 0.02, "longestDelay": 0.1],
        ]
        if kind == .s3 {
            spec["s3"] = [
                "partSize": .integer(Int64(partSize)),
                "completeURL": .string(server.url(PartRules.completionPath)),
                "partURLs": .array((1...3).map { .string(server.url(PartRules.partPath($0))) }),
            ]
        }
        return .object(spec.merging(options) { $1 }.merging(more) { $1 })
    }

    // MARK: What the server holds

    /// Never two versions, never bytes at a wrong offset: the server's bytes are those of the file at the same offsets.
    func expectNoMixture(_ server: UploadServer, _ name: Comment) {
        for (path, entry) in server.files.all {
            let bytes = kind == .multipart ? Self.filePart(entry.bytes) : entry.bytes
            #expect(slice(at: path, bytes.count) == bytes, name)
        }
    }

    /// The whole file is there.
    func expectWhole(_ server: UploadServer, _ name: Comment) {
        let live = server.files.all.filter { !$0.value.isDeleted && $0.value.isComplete }
        let found: [UInt8]? =
            switch kind {
            case .s3: live[PartRules.object]?.bytes
            case .multipart: live.values.first.map { Self.filePart($0.bytes) }
            default: live.values.first?.bytes
            }
        #expect(found.map { Content(bytes: $0) } == content, name)
        #expect(kind == .s3 || live.count == 1, name)
    }

    /// The bytes of the file that belong to an entry of this length.
    private func slice(at path: String, _ count: Int) -> [UInt8] {
        let part = path.hasPrefix("/part/") ? path.split(separator: "/").last.flatMap { Int($0) } ?? 1 : 1
        return Array(content.bytes.dropFirst((part - 1) * partSize).prefix(count))
    }

    /// The file in a form in which it is the last part (RFC 7578); of a truncated form, the existing bytes.
    static func filePart(_ form: [UInt8]) -> [UInt8] {
        guard let head = firstEnd(of: "\r\n\r\n", in: form) else { return [] }
        let boundary = form.prefix { $0 != 13 }
        let tail = Array("\r\n".utf8) + boundary + Array("--\r\n".utf8)
        let body = form[head...]
        return Array(body.suffix(tail.count) == tail[...] ? body.dropLast(tail.count) : body)
    }

    private static func firstEnd(of text: String, in bytes: [UInt8]) -> Int? {
        let wanted = Array(text.utf8)
        return bytes.indices.first { bytes[$0...].starts(with: wanted) }.map { $0 + wanted.count }
    }
}
