import CCurl
import TransferCore
import TransferModel

/// What the TLS server of one request shows in its handshake; read when the handshake has failed.
final class TLSWatch {
    let watch: OpaquePointer
    /// The trusted keys, as CURLOPT_PINNEDPUBLICKEY(3) takes them.
    let trusted: String?
    /// False for a host that is known for HSTS: nobody may ignore faults of its certificate (RFC 6797 section 8.4).
    private let mayTrust: Bool

    /// nil if there is nothing to watch: the session does not ask, there is no TLS, libcurl has another TLS library, or
    /// the first handshake is that of a proxy.
    init?(_ transfer: Transfer) {
        let network = transfer.exchange.network
        guard let decisions = network.tls, decisions.isAsked, transfer.request.url.scheme == "https",
            dld_curl_shares_openssl(), !EasySetup.mayUseSecureProxy(network)
        else { return nil }
        let place = decisions.place(of: transfer.request.url)
        trusted = transfer.trustedKey
        mayTrust = !transfer.request.isKnownHost
        guard let watch = dld_tls_watch_new(place?.showsNone != true, trusted) else { return nil }
        self.watch = watch
    }

    deinit { dld_tls_watch_release(watch) }

    /// What a client may be asked after a handshake that ended like this.
    func challenge(after code: Int, _ message: String, origin: String) -> TLSChallenge? {
        if code == Int(CURLE_SSL_CONNECT_ERROR.rawValue), dld_tls_watch_wants_certificate(watch) {
            return TLSChallenge(origin: origin, .certificate(authorities: items(DLD_TLS_AUTHORITIES)))
        }
        var codes = [CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_PINNEDPUBKEYNOTMATCH].map { Int($0.rawValue) }
        if dld_tls_watch_shows_another_key(watch) { codes.append(Int(CURLE_SSL_CONNECT_ERROR.rawValue)) }
        guard mayTrust, codes.contains(code), let key = dld_tls_watch_key(watch) else { return nil }
        let certificates = items(DLD_TLS_CERTIFICATES)
        guard !certificates.isEmpty else { return nil }
        let digest = [UInt8](UnsafeBufferPointer(start: key, count: Int(DLD_TLS_KEY_LENGTH)))
        return TLSChallenge(
            origin: origin,
            .trust(
                key: "sha256//" + digest.base64, reason: fault ?? message, isAnother: trusted != nil,
                certificates: certificates))
    }

    private var fault: String? { dld_tls_watch_fault(watch).map { String(cString: $0) } }

    private func items(_ list: dld_tls_list) -> [[UInt8]] {
        (0..<dld_tls_watch_count(watch, list)).map { index in
            var length = 0
            let bytes = dld_tls_watch_item(watch, list, index, &length)
            return [UInt8](UnsafeBufferPointer(start: bytes, count: length))
        }
    }
}

extension TLSDecisions {
    /// What was decided about the server of a URL.
    func place(of url: CurlURL) -> Place? {
        places.first { CurlURL($0.origin)?.hasSameOrigin(as: url) == true }
    }
}
