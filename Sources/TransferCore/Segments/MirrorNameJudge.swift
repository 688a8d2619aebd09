import TransferModel

extension Exchange {
    /// - Parameters:
    ///   - mirror: the name of the requested mirror, as in checkpoints; nil = the task's own URL. Accepted answers get
    ///     it.
    ///   - size: the length that the whole file must have. A mirror with another length is refused.
    func answered(by mirror: String?, size: ByteCount?) -> Exchange {
        guard mirror != nil || size != nil else { return self }
        var exchange = self
        exchange.judge = MirrorNameJudge(base: judge, mirror: mirror, size: size)
        return exchange
    }
}

/// Adds the mirror to another judge's verdict, and refuses files of another length than the task's.
struct MirrorNameJudge: ResponseJudge {
    var base: any ResponseJudge
    var mirror: String?
    var size: ByteCount?

    func judge(_ head: ResponseHead) -> Verdict {
        switch base.judge(head) {
        case .accept(var acceptance):
            // The length of a coded body says nothing about the file's.
            if let size, let total = acceptance.total, total != size, acceptance.contentCoding == nil {
                return .failure(Self.otherLength(total, size))
            }
            acceptance.mirror = mirror
            return .accept(acceptance)
        case .stop(let reason): return .stop(reason)
        }
    }

    static func otherLength(_ found: ByteCount, _ wanted: ByteCount) -> TransferError {
        TransferError(
            .integrityLength, "The file there has \(found) bytes, but \(wanted) are expected; check URL and size.",
            retryable: false, details: ["expected": .integer(wanted.rawValue), "found": .integer(found.rawValue)])
    }
}

extension Arrival {
    /// - Throws: `integrity.length` if the whole file has another length than the task says.
    package func check(_ size: ByteCount?) throws(AttemptFailure) {
        guard let size, size != total, contentCoding == nil else { return }
        throw .permanent(MirrorNameJudge.otherLength(total, size))
    }
}
