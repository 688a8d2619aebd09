import TransferModel

/// A transfer protocol: names the next exchange, and never performs one.
package protocol TransferStrategy<Yield>: Sendable {
    /// What it yields in the end: a file (`Arrival`), or a server's answer (`UploadResult`).
    associatedtype Yield: Sendable
    /// What to do first, or after `outcome`.
    mutating func next(after outcome: ExchangeOutcome?) -> Step<Yield>
    /// What a checkpoint stores with the offset; nil until an answer was accepted.
    var progress: Acceptance? { get }
    /// What is known of the upload, or of a request that must not be repeated; nil if nothing is. Stored whenever an
    /// attempt ends, even by an abort. The outcome of an abort goes to `next(after:)` too, but the resulting step is
    /// not performed.
    var upload: UploadProgress? { get }
    /// This strategy as it stands, if it may continue in several segments once an answer turns out to be long; nil if
    /// it never may.
    var parting: HTTPDownload? { get }
}

extension TransferStrategy {
    package var upload: UploadProgress? { nil }
    package var parting: HTTPDownload? { nil }
}

package indirect enum Step<Yield: Sendable>: Sendable {
    case run(Exchange)
    /// Everything has arrived, or was sent and answered.
    case finished(Yield)
    case failed(AttemptFailure)
    /// Before the next step, the bytes are dropped and the part file is emptied. The error goes to `task.restarted`.
    /// Uploads: the stored `UploadProgress` is removed first; downloads: it is replaced by `upload`.
    case restart(TransferError, then: Exchange)
    /// The progress is stored durably before the exchange begins.
    case store(UploadProgress, then: Exchange)
}

extension Step {
    /// Stores the progress, if there is any, before the exchange.
    static func stored(_ progress: UploadProgress?, then exchange: Exchange) -> Step {
        progress.map { .store($0, then: exchange) } ?? .run(exchange)
    }

    /// The exchange to perform next; nil after the strategy's last step.
    package var exchange: Exchange? {
        switch self {
        case .run(let exchange), .restart(_, then: let exchange), .store(_, then: let exchange): exchange
        case .finished, .failed: nil
        }
    }
}

/// A complete representation on disk.
package struct Arrival: Sendable, Hashable {
    package var total: ByteCount
    package var lengthProven: Bool
    package var head: ResponseHead?
    package var contentCoding: String?
    /// The server's digests of the whole file, by algorithm, lower-case hexadecimal.
    package var serverDigests: [DigestAlgorithm: String] = [:]
    /// When the file was last changed, as the server wrote it.
    package var lastModified: String?
    /// A repeated request cannot make the server act twice.
    package var mayBeFetchedAgain = true
    /// The mirrors that bytes came from, by the names that checkpoints use; not the task's own URL.
    package var mirrors: [String] = []

    /// Seconds since 1970.
    package var modificationTime: Int64? { head?.modificationTime ?? lastModified.flatMap(HTTPDate.parse) }
}
