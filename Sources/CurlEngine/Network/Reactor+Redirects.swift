import CCurl
import TransferCore
import TransferModel

/// Redirects: they are followed here, or handed back for a client to decide.
extension Reactor {
    /// Follows a redirect to its target.
    func follow(_ transfer: Transfer) {
        guard let status = transfer.parser.status, let location = transfer.redirectTarget else {
            return conclude(transfer, failure(CURLE_WEIRD_SERVER_REPLY, transfer))
        }
        takeHandle(transfer)
        transfer.noteHop()
        transfer.reportMetrics()
        let before = transfer.request
        do {
            try transfer.request.follow(status: status, location: location, isSentWhole: transfer.isSentWhole)
        } catch {
            return conclude(transfer, .refusedRedirect(error))
        }
        guard transfer.exchange.redirects != .ask else { return ask(transfer, before) }
        let (given, target) = (transfer.request.insecureURL, transfer.request.url.text)
        transfer.context.observer.transferRedirected(to: given ?? target, status: status)
        if given != nil { transfer.context.observer.transferSecured(to: target) }
        transfer.prepareNextRequest()
        send(transfer)
    }

    /// Ends the exchange with the redirect, as the answer to the request `before` it.
    private func ask(_ transfer: Transfer, _ before: RequestState) {
        let target = transfer.request
        transfer.noteSites()
        transfer.request = before
        let head = transfer.makeHead()
        transfer.head = head
        // Its body was too long or slow to be waited for, or the connection broke.
        transfer.isCaptureTruncated = !transfer.isHandleClean
        let reason = StopReason.redirect(
            StandingRequest(
                TaskRequest(url: target.url.text, method: target.effectiveMethod, headers: target.headers),
                sendsOwnBody: target.sendsPayload, isForeign: target.isForeign, crossedSites: transfer.crossedSites,
                redirects: 1, mayStepBack: before.isIdempotent, losesUpload: target.losesUpload ? true : nil))
        transfer.context.observer.transferResponded(head, verdict: .stop(reason))
        conclude(transfer, .stopped(reason))
    }
}
