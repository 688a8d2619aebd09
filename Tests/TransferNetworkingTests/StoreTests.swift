import Foundation
import TestSupport
import Testing
import Threading
import TransferNetworking

extension TransferNetworkingSuite {
    /// Cookies, credentials, the cache and `URLProtocol`.
    @Suite struct StoreTests {
        @Test func aSessionsCookiesAreItsOwn() async throws {
            let scene = try await LibraryScene()
            scene.origin.serve("/set", .status(200, [("Set-Cookie", "a=1; Path=/")], body: "x"))
            scene.origin.serve("/get", .choose { .status(200, body: $0.header("Cookie") ?? "none") })
            let configuration = scene.configuration()
            let storage = try #require(configuration.httpCookieStorage)
            let properties: [HTTPCookiePropertyKey: Any] = [
                .name: "b", .value: "2", .domain: "127.0.0.1", .path: "/",
            ]
            storage.setCookie(try #require(HTTPCookie(properties: properties)))
            let session = URLSession(configuration: configuration)
            _ = try await session.data(from: scene.url("/set"))
            let known = storage.cookies?.map { "\($0.name) \($0.domain) \($0.path)" }.sorted()
            #expect(known == ["a 127.0.0.1 /", "b 127.0.0.1 /"])
            #expect(storage.cookies(for: try scene.url("/get"))?.count == 2)
            let sent = String(decoding: try await session.data(from: scene.url("/get")).0, as: UTF8.self)
            #expect(Set(sent.split(separator: "; ")) == ["a=1", "b=2"])
            for cookie in storage.cookies ?? [] { storage.deleteCookie(cookie) }
            #expect(String(decoding: try await session.data(from: scene.url("/get")).0, as: UTF8.self) == "none")
            #expect(
                String(decoding: try await scene.session().data(from: scene.url("/get")).0, as: UTF8.self) == "none")
        }

        @Test func aStoredCredentialIsUsedWithoutADelegate() async throws {
            let scene = try await LibraryScene()
            scene.origin.serve(
                "/a", .basic(Data("anna:secret".utf8).base64EncodedString(), then: .status(200, body: "in")))
            let configuration = scene.configuration()
            let space = URLProtectionSpace(
                host: "127.0.0.1", port: Int(scene.origin.port), protocol: "http", realm: "test",
                authenticationMethod: NSURLAuthenticationMethodHTTPBasic)
            configuration.urlCredentialStorage?.setDefaultCredential(
                URLCredential(user: "anna", password: "secret", persistence: .forSession), for: space)
            let (data, _) = try await URLSession(configuration: configuration).data(from: scene.url("/a"))
            #expect(String(decoding: data, as: UTF8.self) == "in")
        }

        @Test func theCacheAnswersIfItsPolicyIsNamed() async throws {
            let scene = try await LibraryScene()
            scene.origin.serve(
                "/a", .status(200, [("Cache-Control", "max-age=600")], body: "one"), .status(200, body: "two"))
            let session = scene.session()
            var request = URLRequest(url: try scene.url("/a"))
            request.cachePolicy = .returnCacheDataElseLoad
            for _ in 0..<2 {
                #expect(String(decoding: try await session.data(for: request).0, as: UTF8.self) == "one")
            }
            request.cachePolicy = .returnCacheDataDontLoad
            request.url = try scene.url("/b")
            let missing = request
            let error = await #expect(throws: URLError.self) { try await session.data(for: missing) }
            #expect(error?.code == .resourceUnavailable)
        }

        /// As the protocol says, and as the delegate decides.
        @Test(arguments: [(true, true), (false, true), (true, false)])
        func answersAreStored(_ stores: Bool, _ hasCache: Bool) async throws {
            let scene = try await LibraryScene()
            scene.origin.serve("/a", .status(200, [("Cache-Control", "max-age=600")], body: "one"))
            let configuration = scene.configuration()
            if !hasCache { configuration.urlCache = nil }
            let recorder = Recorder(.init(stores: stores))
            let session = URLSession(configuration: configuration, delegate: recorder, delegateQueue: nil)
            session.dataTask(with: try scene.url("/a")).resume()
            #expect(await recorder.wait(for: "complete"))
            let question = hasCache ? ["cache 3"] : []
            #expect(recorder.lines == ["created", "response 200", "data"] + question + ["metrics", "complete 0"])
            let (data, _) = try await session.data(from: scene.url("/a"))
            #expect(String(decoding: data, as: UTF8.self) == "one")
            #expect(scene.origin.requests("/a").count == (stores && hasCache ? 1 : 2))
        }

        final class Greeter: URLProtocol, @unchecked Sendable {
            override class func canInit(with request: URLRequest) -> Bool { request.url?.scheme == "greet" }
            override func startLoading() {
                guard let url = request.url else { return }
                client?.urlProtocol(
                    self,
                    didReceive: URLResponse(
                        url: url, mimeType: "text/plain", expectedContentLength: 5, textEncodingName: nil),
                    cacheStoragePolicy: .notAllowed)
                client?.urlProtocol(self, didLoad: Data("hello".utf8))
                client?.urlProtocolDidFinishLoading(self)
            }
        }

        @Test(arguments: [URLSession.ResponseDisposition.allow, .becomeDownload])
        func aProtocolServesItsRequestsInThisProcess(_ disposition: URLSession.ResponseDisposition) async throws {
            let configuration = URLSessionConfiguration.ephemeral
            configuration.protocolClasses = [Greeter.self]
            let recorder = Recorder(.init(disposition: disposition))
            let session = URLSession(configuration: configuration, delegate: recorder, delegateQueue: nil)
            session.dataTask(with: try #require(URL(string: "greet://you"))).resume()
            #expect(await recorder.wait(for: "complete"))
            #expect((recorder.seen.file ?? recorder.seen.body) == Data("hello".utf8))
            session.invalidateAndCancel()
            #expect(await recorder.wait(for: "invalid"))
        }

        @Test func propertiesSurviveTheBridgeAndStayOffTheWire() async throws {
            let scene = try await LibraryScene()
            scene.origin.serve("/a", .status(200, body: "x"))
            let mutable = NSMutableURLRequest(url: try scene.url("/a"))
            URLProtocol.setProperty("yes", forKey: "seen", in: mutable)
            let request = mutable as URLRequest
            #expect(URLProtocol.property(forKey: "seen", in: request) as? String == "yes")
            _ = try await scene.session().data(for: request)
            let fields = scene.origin.requests("/a").flatMap { $0.request.headers.map { $0.name.lowercased() } }
            #expect(!fields.contains { $0.contains("transfernetworking") })
        }
    }
}
