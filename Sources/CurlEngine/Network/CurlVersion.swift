import CCurl

/// The version and abilities of the libcurl that is loaded, not of the one this was built with.
struct CurlVersion: Sendable {
    let text: String
    let number: UInt32
    let protocols: [String]

    static let current = CurlVersion()

    private init() {
        guard let info = curl_version_info(CURLVERSION_FIRST)?.pointee else {
            text = "unknown"
            number = 0
            protocols = []
            return
        }
        text = info.version.map { String(cString: $0) } ?? "unknown"
        number = info.version_num
        var names: [String] = []
        var next = info.protocols
        while let name = next?.pointee {
            names.append(String(cString: name))
            next = next?.advanced(by: 1)
        }
        protocols = names
    }

    /// Before 8.0.0, uploads over HTTP/2 spin when the send window is full.
    var uploadsSafelyOverHTTP2: Bool { number >= 0x080000 }
}
