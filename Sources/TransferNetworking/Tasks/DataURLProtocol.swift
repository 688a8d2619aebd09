/// Serves `data:` URLs (RFC 2397), which need no daemon.
final class DataURLProtocol: URLProtocol, @unchecked Sendable {
    override class func canInit(with request: URLRequest) -> Bool { request.url?.scheme?.lowercased() == "data" }

    override func startLoading() {
        guard let url = request.url, let content = Content(url.absoluteString) else {
            client?.urlProtocol(self, didFailWithError: URLError(.badURL))
            return
        }
        let response = URLResponse(
            url: url, mimeType: content.type, expectedContentLength: content.data.count,
            textEncodingName: content.encoding)
        client?.urlProtocol(self, didReceive: response, cacheStoragePolicy: .notAllowed)
        client?.urlProtocol(self, didLoad: content.data)
        client?.urlProtocolDidFinishLoading(self)
    }

    private struct Content {
        var type = "text/plain"
        var encoding: String?
        var data: Data

        /// nil for what RFC 2397 section 3 does not allow.
        init?(_ text: String) {
            guard let colon = text.firstIndex(of: ":"), let comma = text.firstIndex(of: ",") else { return nil }
            var words = text[text.index(after: colon)..<comma].split(separator: ";", omittingEmptySubsequences: false)
            let type = words.isEmpty ? "" : words.removeFirst()
            if !type.isEmpty {
                guard type.split(separator: "/", omittingEmptySubsequences: false).count == 2 else { return nil }
                self.type = String(type)
            }
            let isCoded = words.last?.lowercased() == "base64"
            encoding = words.first { $0.lowercased().hasPrefix("charset=") }.map { String($0.dropFirst(8)) }
            let bytes = Self.unescaped(text[text.index(after: comma)...].utf8)
            guard let data = isCoded ? Data(base64Encoded: bytes) : bytes else { return nil }
            self.data = data
        }

        private static func unescaped(_ text: Substring.UTF8View) -> Data {
            var (rest, bytes) = (text[...], Data())
            while let first = rest.popFirst() {
                let pair = rest.prefix(2)
                if first == UInt8(ascii: "%"), pair.count == 2, let byte = UInt8(String(Substring(pair)), radix: 16) {
                    bytes.append(byte)
                    rest.removeFirst(2)
                } else {
                    bytes.append(first)
                }
            }
            return bytes
        }
    }
}
