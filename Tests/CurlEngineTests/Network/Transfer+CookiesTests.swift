import TestSupport
import Testing
import Threading
import TransferCore
import TransferModel

@testable import CurlEngine

/// Has another cookie for each request.
private final class CountedCookies: CookieKeeping {
    private let count = Guarded(0)

    func field(for request: @autoclosure () -> CookieRequest, without names: @autoclosure () -> Set<String>) -> String?
    {
        count.withLock { count in
            count += 1
            return "n=\(count)"
        }
    }

    func receive(_ fields: [String], from url: CookieURL) {}
}

@Suite struct TransferCookiesTests {
    /// The observer learns which cookies the exchange's own URL gets, and not those of a redirect's target.
    @Test func theCookiesOfTheFirstRequestAreTold() async throws {
        let bench = try Bench(cookies: CountedCookies())
        let origin = try ScriptedServer { request, connection in
            connection.send(
                request.target == "/"
                    ? "HTTP/1.1 302 Moved\r\nLocation: /next\r\nContent-Length: 0\r\n\r\n"
                    : "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            return .keepAlive
        }
        #expect(try await bench.download(origin.url("/")).end == .finished)
        #expect(origin.requests.map { $0.header("Cookie") } == ["n=1", "n=2"])
        #expect(bench.observer.heard.cookies == ["n=1"])
        await bench.engine.shutdown()
    }
}
