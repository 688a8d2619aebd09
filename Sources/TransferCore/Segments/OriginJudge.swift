import TransferModel

extension Exchange {
    /// - Parameters:
    ///   - origin: the mirror that is asked, as a checkpoint names it: what is accepted says so. nil = the task's own URL.
    ///   - size: what the whole file must have; a place with another length is refused.
    func answered(by origin: String?, size: ByteCount?) -> Exchange {
        guard origin != nil || size != nil else { return self }
        var exchange = self
        exchange.judge = OriginJudge(base: judge, origin: origin, size: size)
        return exchange
    }
}

/// Adds to another judge's verdict which mirror it was of, and refuses files of another length than the task's.
struct OriginJudge: ResponseJudge {
    var base: any ResponseJudge
    var origin: String?
    var size: ByteCount?

    func judge(_ head: ResponseHead) -> Verdict {
        switch base.judge(head) {
        case .accept(var acceptance):
            // The length of a coded body says nothing of the file's.
            if let size, let total = acceptance.total, total != size, acceptance.contentCoding == nil {
                return .stop(.failure(Self.otherLength(total, size), retryAfter: nil))
            }
            acceptance.origin = origin
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
    /// - Throws: `integrity.length` if the whole has another length than the task says.
    package func check(_ size: ByteCount?) throws(AttemptFailure) {
        guard let size, size != total, contentCoding == nil else { return }
        throw AttemptFailure(error: OriginJudge.otherLength(total, size), disposition: .permanent)
    }
}
