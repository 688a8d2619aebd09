import FileKit
import TestSupport
import TransferCore
import TransferModel

/// What one task sends something to, and all that ever arrived there.
final class UploadTarget {
    enum Kind: CaseIterable { case put, post, form, contentRange, tus, resumable, s3, data }

    /// What a server made for one upload.
    final class Upload {
        let number: Int
        /// Announced when it was made; nil if nobody said it.
        let length: Int?
        var bytes: [UInt8] = []
        var isComplete = false
        /// The server has forgotten it.
        var isLost = false
        /// By a DELETE.
        var isEnded = false
        /// The daemon has asked for it or sent to it, so it knows that it is there.
        var isKnown = false
        var isBusy = false
        /// The server has not noticed before (virtual time since boot) that an append was cut.
        var lockedUntil: Int64 = 0

        init(_ number: Int, length: Int?) {
            self.number = number
            self.length = length
        }

        /// Nothing is to become of it any more.
        var isOver: Bool { isComplete || isLost || isEnded }
    }

    let name: String
    let kind: Kind
    /// Of the request that carries all of it (post, form, data).
    let method: String?
    /// The daemon is to find out which protocol the server speaks, where that can be found out.
    private let isAsked: Bool
    /// Draft version of `resumable`.
    let interopVersion: Int
    /// Bytes that one append may have; nil = any.
    let limit: Int?
    let announcesLimit: Bool
    let source: Source
    /// Versions of the source that the task may have been added with: the last is not known before its add is answered.
    var versions: ClosedRange<Int>
    var isAnswered = false
    /// Times that the client asked for the task anew: what one try may do, each of them may.
    var renewals = 0
    private(set) var uploads: [Upload] = []
    /// Requests that were acted on as a whole (put, post, form, data).
    private(set) var acts = 0
    /// What the last PUT or POST left.
    private var stored: [UInt8]?
    /// Bodies that a data task was answered.
    private(set) var answers: [[UInt8]] = []
    /// What goes beside the file (form).
    let form: SentForm?
    /// Where parts go (s3).
    private(set) var s3: S3Store?
    private unowned let world: World

    /// - Parameter method: of a data task.
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

    /// As the task names it.
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

    /// Each byte must be of the version that the task was added with, and in its place.
    func expect(_ piece: ArraySlice<UInt8>, at offset: Int) {
        for version in versions where source.contents[version].count >= offset + piece.count {
            if source.contents[version][offset..<(offset + piece.count)] == piece { return }
        }
        world.violate("\(path) was sent \(piece.count) bytes at \(offset) that are of no version of its source")
    }

    /// The server takes the task's content as whole.
    func isWhole(_ bytes: [UInt8]) -> Bool { versions.contains { source.contents[$0] == bytes } }

    /// Whether what a task of this target is to bring about has happened.
    var isDone: Bool {
        switch kind {
        case .put, .post, .form: stored.map(isWhole) ?? false
        case .s3: s3?.object.map(isWhole) ?? false
        case .data: acts > 0
        case .contentRange, .tus, .resumable: uploads.contains { $0.isComplete && isWhole($0.bytes) }
        }
    }

    /// A request was acted on; `bytes` is all that it brought.
    func act(_ bytes: [UInt8]) {
        acts += 1
        stored = bytes
        if !isWhole(bytes) { world.violate("\(path) took \(bytes.count) bytes that are of no version of its source") }
        // PUT and GET may come any number of times (RFC 9110 section 9.2.2).
        if method == "POST", acts > 1 + renewals { world.violate("\(path) acted \(acts) times on one POST") }
    }

    /// The same of a form.
    func act(on reader: FormReader) {
        do {
            act(Array(try form?.file(in: reader) ?? []))
        } catch {
            world.violate("\(path) took a form that is none: \(error)")
        }
    }

    /// A PUT was cut: what was there before is gone.
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

    /// All of it has arrived.
    func complete(_ upload: Upload) {
        guard !upload.isComplete else { return }
        upload.isComplete = true
        world.note("\(path)/\(upload.number) is complete")
        if !isWhole(upload.bytes) {
            world.violate("\(path) holds \(upload.bytes.count) bytes that are of no version of its source")
        }
        // Of an empty one nobody can ask where it is before it is there.
        let finished = uploads.count { $0.isComplete && !$0.isLost && !$0.isEnded && !$0.bytes.isEmpty }
        if finished > 1 + renewals { world.violate("\(path) has \(finished) finished uploads") }
    }

    // MARK: What is answered

    /// The body of a data task's answer: another one each time.
    func newAnswer() -> [UInt8] {
        let length = [0, world.random.below(2000), world.random.below(60_000)][world.random.below(3)]
        let answer = world.random.bytes(length)
        answers.append(answer)
        return answer
    }
}
