import TransferModel

/// The result of the request that ends an upload at its server.
package enum UploadTermination: Sendable, Hashable {
    /// The server has ended the upload, no longer knows it, or will never end it.
    case done
    /// The request must be repeated, after this delay if the server names one.
    case again(after: Seconds?)
    /// The daemon stopped the request.
    case aborted

    package init(_ outcome: ExchangeOutcome, now: Timestamp) {
        if case .aborted = outcome.end {
            self = .aborted
        } else if let head = outcome.head, let status = head.status {
            // 409: locked by an append whose end the server has not noticed yet.
            let comesAgain = status == 409 || FailureClassifier.transientStatuses.contains(status)
            self = comesAgain ? .again(after: FailureClassifier.retryAfter(head, now: now)) : .done
        } else {
            switch FailureClassifier.classify(outcome, url: "").disposition {
            case .permanent: self = .done
            case .transient, .disk, .network: self = .again(after: nil)
            }
        }
    }
}
