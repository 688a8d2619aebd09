import CCurl
import TransferCore
import TransferModel

/// How a handle was configured, if the next transfer may keep that. Two plain downloads over HTTP with the same network
/// options differ only in URL, header lines and callbacks.
struct HandleRecipe: Equatable {
    private let network: Boxed<NetworkOptions>
    private let interface: NetworkInterface?
    private let scheme: String
    private let isForeign: Bool
    private let bufferSize: Int

    /// nil for a transfer that needs options of its own.
    init?(_ transfer: Transfer) {
        let (exchange, request) = (transfer.exchange, transfer.request)
        guard exchange.kind == .download, request.url.isHTTP, !transfer.isSending, !request.hasCredentials,
            request.effectiveMethod == "GET", transfer.limits.isEmpty, !transfer.isAfresh, transfer.tokens == nil,
            request.url.scheme == "http" || exchange.network.tls == nil && exchange.network.exceptions.isEmpty,
            transfer.reactor?.trace?.isWanted() != true
        else { return nil }
        network = exchange.$network
        interface = transfer.interface
        scheme = request.url.scheme
        isForeign = request.isForeign
        bufferSize = EasySetup.bufferSize(of: transfer)
    }
}

/// Easy handles for the next transfers. A reused handle keeps its options if the next transfer has the same recipe.
struct HandlePool {
    /// Handles without a recipe are as good as new.
    private var idle: [(easy: UnsafeMutableRawPointer, recipe: HandleRecipe?)] = []

    private static let limit = 64

    /// Connections from before this time are not used again (nanoseconds of the monotonic clock).
    var renewedAt: Int64?

    /// The most seconds that a connection may have been idle if it is used again; nil: libcurl's 118
    /// (CURLOPT_MAXAGE_CONN(3)).
    private func longestIdle(at now: Int64) -> Int? {
        guard let renewedAt, now - renewedAt < 120_000_000_000 else { return nil }
        return max(0, Int((now - renewedAt) / 1_000_000_000) - 1)
    }

    /// A used handle, or a new one if the used handle refuses the request. If a handle has left a connection that
    /// others still share (HTTP/2), it keeps its buffer, and libcurl 7.88 then refuses CURLOPT_BUFFERSIZE.
    mutating func take(
        for transfer: Transfer, userAgent: String, at now: Int64
    ) -> (UnsafeMutableRawPointer?, CURLcode) {
        let longest = longestIdle(at: now)
        transfer.recipe = longest == nil ? HandleRecipe(transfer) : nil
        if let (used, recipe) = idle.popLast() {
            let isKept = recipe != nil && recipe == transfer.recipe
            if recipe != nil, !isKept { curl_easy_reset(used) }
            let code = EasySetup.configure(
                used, for: transfer, userAgent: userAgent, longestIdle: longest, isKept: isKept)
            guard code == CURLE_BAD_FUNCTION_ARGUMENT else { return (used, code) }
            curl_easy_cleanup(used)
        }
        guard let new = curl_easy_init() else { return (nil, CURLE_OUT_OF_MEMORY) }
        return (new, EasySetup.configure(new, for: transfer, userAgent: userAgent, longestIdle: longest))
    }

    /// Keeps the handle only if libcurl itself ended the transfer without an error: after a name that did not resolve,
    /// 7.88 refuses CURLOPT_BUFFERSIZE on it for ever.
    mutating func giveBack(_ easy: UnsafeMutableRawPointer, of transfer: Transfer) {
        guard transfer.isHandleClean, idle.count < Self.limit else { return curl_easy_cleanup(easy) }
        if transfer.recipe == nil { curl_easy_reset(easy) } else { dld_easy_forget(easy) }
        idle.append((easy, transfer.recipe))
    }

    mutating func empty() {
        for handle in idle { curl_easy_cleanup(handle.easy) }
        idle = []
    }
}
