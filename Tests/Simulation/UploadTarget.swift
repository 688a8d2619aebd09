import FileKit
import TestSupport
import TransferCore
import TransferModel

/// The target that one task sends to, and everything that ever arrived there.
final class UploadTarget {
    enum Kind: CaseIterable { case put, post, form, contentRange, tus, resumable, s3, data }

    /// The resource that a server created for one upload.
    final class Upload {
        let number: Int
        /// The length that was announced at its creation. Nil if none was announced.
        let length: Int?
        var bytes: [UInt8] = []
        var isComplete = false
        /// The server has forgotten it.
        var isLost = false
        /// A DELETE has ended it.
        var isEnded = false
        /// The daemon has requested it or sent to it, so the daemon knows that it exists.
        var isKnown = false
        var isBusy = false
        /// Until this time the server does not notice that an append was cut (virtual time since boot).
        var lockedUntil: Int64 = 0

        init(_ number: Int, length: Int?) {
            self.number = number
            self.length = length
        }

        /// Whether nothing can happen to it any more.
        var isOver: Bool { isComplete || isLost || isEnded }
    }

    let name: String
    let kind: Kind
    /// The method of the request with the entire content (post, form, data).
    let method: String?
    /// Whether the daemon must find out the protocol of the server, if that is possible.
    private let isAsked: Bool
    /// The draft version of `resumable`.
    let interopVersion: Int
    /// The most bytes in one append. Nil means no limit.
    let limit: Int?
    let announcesLimit: Bool
    let source: Source
    /// The versions of the source with which the task may have been added. The last one is unknown until the add is
    /// answered.
    var versions: ClosedRange<Int>
    var isAnswered = false
    /// How often the client asked for the task again. Each of these tries may do what the first one may do.
    var renewals = 0
    private(set) var uploads: [Upload] = []
    /// Complete requests that the server acted on (put, post, form, data).
    private(set) var acts = 0
    /// The content that the last PUT or POST left.
    private var stored: [UInt8]?
    /// The bodies that a data task got as answers.
    private(set) var answers: [[UInt8]] = []
    /// The fields besides the file (form).
    let form: SentForm?
    /// The store for parts (s3).
    private(set) var s3: S3Store?
    private unowned let world: World

    /// - Parameter method: The method of a data task.
    init(_ world: World, _ name: String, _ kind: Kind, _ source: Source, method: String? = nil) {
        self.world = world
        self.name = name
        self.kind = kind
        self.source = source
        versions = source.version...source.version
        interopVersion = [3, 5, 6, 8][world.random.below(4)]
        form = kind == .form ? SentForm(&world.random) : nil
        self.method = kind == .post ? "POST" : form?.method ?? method
        let isLimited = world.random.chance(250)
        announcesLimit = kind == .resumable && world.random.chance(500)
        limit = !isLimited ? nil : kind == .contentRange ? 256 << 10 : announcesLimit ? 50_000 : 100_000
        isAsked = world.random.chance(200)
        if kind == .s3 { s3 = S3Store(world, self) }
    }

    private var path: String { "/u/\(name)" }
    var host: String { "h\((Int(name.dropFirst()) ?? 0) % 3).localhost" }
    var url: String { "http://\(host)\(path)" }

    /// The name of the protocol in the task.
    var uploadProtocol: String? {
        switch kind {
        case .put: isAsked ? "auto" : "put"
        case .post: "post"
        case .form: isAsked ? nil : "multipart"
        case .s3: isAsked ? nil : "s3Multipart"
        case .contentRange: "contentRange"
        case .tus: isAsked ? "auto" : "tus"
        case .resumable: isAsked && announcesLimit && limit != nil ? "auto" : "resumable"
        case .data: nil
        }
    }

    // MARK: What is sent

    /// The file has another version.
    func sourceChanged() { if !isAnswered { versions = versions.lowerBound...source.version } }

    /// Checks that each byte belongs to the version with which the task was added, and is at its offset.
    func expect(_ piece: ArraySlice<UInt8>, at offset: Int) {
        for version in versions where source.contents[version].count >= offset + piece.count {
            if source.contents[version][offset..<(offset + piece.count)] == piece { return }
        }
        world.violate("\(path) was sent \(piece.count) bytes at \(offset) that are of no version of its source")
    }

    /// Tells whether the bytes are the complete content of the task.
    func isWhole(_ bytes: [UInt8]) -> Bool { versions.contains { source.contents[$0] == bytes } }

    /// Whether the result of the task exists at this target.
    var isDone: Bool {
        switch kind {
        case .put, .post, .form: stored.map(isWhole) ?? false
        case .s3: s3?.object.map(isWhole) ?? false
        case .data: acts > 0
        case .contentRange, .tus, .resumable: uploads.contains { $0.isComplete && isWhole($0.bytes) }
        }
    }

    /// The server acted on a request. `bytes` is its entire content.
    func act(_ bytes: [UInt8]) {
        acts += 1
        stored = bytes
        if !isWhole(bytes) { world.violate("\(path) took \(bytes.count) bytes that are of no version of its source") }
        // PUT and GET may come any number of times (RFC 9110 section 9.2.2).
        if method == "POST", acts > 1 + renewals { world.violate("\(path) acted \(acts) times on one POST") }
    }

    /// The same for a form.
    func act(on reader: FormReader) {
        do {
            act(Array(try form?.file(in: reader) ?? []))
        } catch {
            world.violate("\(path) took a form that is none: \(error)")
        }
    }

    /// A PUT was cut, and the earlier content is lost.
    func spoil() { stored = nil }

    // MARK: Uploads that are made at the server

    func create(length: Int?) -> Upload {
        let upload = Upload(uploads.count, length: length)
        uploads.append(upload)
        world.note("\(path)/\(upload.number) is made")
        return upload
    }

    func place(of upload: Upload) -> String {
        let path = "\(path)/\(upload.number)"
        return world.random.chance(500) ? path : "http://\(host)\(path)"
    }

    /// All bytes of the upload have arrived.
    func complete(_ upload: Upload) {
        guard !upload.isComplete else { return }
        upload.isComplete = true
        world.note("\(path)/\(upload.number) is complete")
        if !isWhole(upload.bytes) {
            world.violate("\(path) holds \(upload.bytes.count) bytes that are of no version of its source")
        }
        // The offset of an empty upload cannot be requested before the upload exists, so empty ones do not count.
        let finished = uploads.count { $0.isComplete && !$0.isLost && !$0.isEnded && !$0.bytes.isEmpty }
        if finished > 1 + renewals { world.violate("\(path) has \(finished) finished uploads") }
    }

    // MARK: What is answered

    /// Returns the body of a data task's answer, a new one each time.
    func newAnswer() -> [UInt8] {
        let length = [0, world.random.below(2000), world.random.below(60_000)][world.random.below(3)]
        let answer = world.random.bytes(length)
        answers.append(answer)
        return answer
    }
}
