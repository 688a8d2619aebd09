import Foundation
import TestSupport
import Testing
import Threading
import TransferNetworking

extension TransferNetworkingSuite {
    /// What code relies on that was written for Foundation's stores and protocols.
    @Suite struct FoundationStoreTests {
        private func cookie(
            _ name: String, _ domain: String, path: String = "/", expires: Date? = nil
        ) throws -> HTTPCookie {
            var properties: [HTTPCookiePropertyKey: Any] = [
                .name: name, .value: "Test @#$%^$&*99", .path: path, .domain: domain,
            ]
            properties[.expires] = expires
            return try #require(HTTPCookie(properties: properties))
        }

        private func storage(_ name: String = #function) -> HTTPCookieStorage {
            .sharedCookieStorage(forGroupContainerIdentifier: name)
        }

        @Test func cookiesAreKeptReplacedAndRemoved() throws {
            let storage = storage()
            storage.setCookie(try cookie("a", "swift.org", expires: Date(timeIntervalSince1970: 1_475_767_775)))
            #expect(storage.cookies == [])
            let newest = try cookie("a", "swift.org")
            for cookie in [try cookie("a", "swift.org"), newest] { storage.setCookie(cookie) }
            #expect(storage.cookies == [newest])
            storage.setCookie(try cookie("a", "example.com"))
            #expect(storage.description == "<NSHTTPCookieStorage cookies count:2>")
            storage.deleteCookie(try cookie("a", "example.com"))
            storage.removeCookies(since: Date(timeIntervalSinceNow: 120))
            #expect(storage.cookies == [newest])
            storage.removeCookies(since: Date(timeIntervalSinceNow: -120))
            #expect(storage.cookies == [])
        }

        @Test func cookiesGoToTheirHosts() throws {
            let storage = storage()
            let (host, domain, bugs) = (
                try cookie("1", "swift.org"), try cookie("2", ".SWIFT.org"), try cookie("3", "bugs.swift.org")
            )
            for cookie in [host, domain, bugs] { storage.setCookie(cookie) }
            for (text, expected) in [
                ("https://swift.ORG", [host, domain]), ("https://CI.swift.ORG", [domain]),
                ("https://BUGS.swift.org", [domain, bugs]), ("http://www.example.com", []),
                ("https://superswift.org", []),
            ] {
                #expect(storage.cookies(for: try #require(URL(string: text))) == expected, "\(text)")
            }
        }

        @Test func onlyTheMainDocumentsHostSetsCookies() throws {
            let storage = storage()
            storage.cookieAcceptPolicy = .onlyFromMainDocumentDomain
            let main = URL(string: "http://ci.swift.org")
            for (text, count) in [("https://dt.swift.org/a", 0), ("https://swift.org/a", 1)] {
                let cookies = [try cookie("a", "swift.org"), try cookie("b", "example.com")]
                storage.setCookies(cookies, for: URL(string: text), mainDocumentURL: main)
                #expect(storage.cookies?.count == count, "\(text)")
            }
        }

        @Test func cookiesAreSorted() throws {
            let storage = storage()
            let cookies = [
                try cookie("A", "swift.org", path: "/1"),
                try cookie("B", "swift.org", path: "/2", expires: Date(timeIntervalSinceNow: 1000)),
                try cookie("C", "swift.org", path: "/2", expires: Date(timeIntervalSinceNow: 2000)),
            ]
            for cookie in cookies { storage.setCookie(cookie) }
            let sorted = storage.sortedCookies(using: [
                NSSortDescriptor(keyPath: \HTTPCookie.path, ascending: true),
                NSSortDescriptor(keyPath: \HTTPCookie.name, ascending: false),
            ])
            #expect(sorted == [cookies[0], cookies[2], cookies[1]])
        }

        /// What came back from the daemon unchanged is the cookie that was set, and no change.
        @Test func aRefreshIsNoChange() async throws {
            let scene = try await LibraryScene()
            scene.origin.serve("/a", .status(200, [("Set-Cookie", "b=2; Path=/")], body: "x"))
            let configuration = scene.configuration()
            let storage = try #require(configuration.httpCookieStorage)
            let own = try cookie("a", "127.0.0.1", expires: Date(timeIntervalSinceNow: 1000.5))
            storage.setCookie(own)
            let changes = Guarded(0)
            let observer = NotificationCenter.default.addObserver(
                forName: .NSHTTPCookieManagerCookiesChanged, object: storage, queue: nil
            ) { _ in changes.withLock { $0 += 1 } }
            defer { NotificationCenter.default.removeObserver(observer) }
            let session = URLSession(configuration: configuration)
            for _ in 0..<2 { _ = try await session.data(from: scene.url("/a")) }
            #expect(storage.cookies?.contains(own) == true)
            #expect(storage.cookies?.count == 2)
            #expect(changes.withLock { $0 } == 1)
        }

        @Test func credentialsTellOfChangesOnly() throws {
            let storage = try #require(URLSessionConfiguration.ephemeral.urlCredentialStorage)
            let changes = Guarded(0)
            let observer = NotificationCenter.default.addObserver(
                forName: .NSURLCredentialStorageChanged, object: storage, queue: nil
            ) { _ in changes.withLock { $0 += 1 } }
            defer { NotificationCenter.default.removeObserver(observer) }
            func space(_ host: String) -> URLProtectionSpace {
                URLProtectionSpace(
                    host: host, port: 0, protocol: NSURLProtectionSpaceHTTP, realm: nil,
                    authenticationMethod: NSURLAuthenticationMethodDefault)
            }
            func user(_ number: Int, _ persistence: URLCredential.Persistence = .forSession) -> URLCredential {
                URLCredential(user: "user\(number)", password: "password\(number)", persistence: persistence)
            }
            let (here, there) = (space("example1.com"), space("example2.com"))
            let steps: [(() -> Void, Int)] = [
                ({ storage.set(user(1), for: here) }, 1), ({ storage.set(user(1), for: here) }, 1),
                ({ storage.set(user(1), for: there) }, 2), ({ storage.setDefaultCredential(user(1), for: here) }, 2),
                ({ storage.setDefaultCredential(user(2), for: here) }, 3), ({ storage.remove(user(3), for: here) }, 3),
                ({ storage.set(user(4, .none), for: here) }, 3), ({ storage.remove(user(1), for: here) }, 4),
            ]
            for (index, (step, count)) in steps.enumerated() {
                step()
                #expect(changes.withLock { $0 } == count, "\(index)")
            }
            #expect(storage.defaultCredential(for: here) == user(2))
            storage.remove(user(2), for: here)
            #expect(storage.defaultCredential(for: here) == nil)
            #expect(storage.credentials(for: here) == nil)
            #expect(storage.credentials(for: there) == ["user1": user(1)])
        }

        @Test func aProtectionSpaceSaysWhatItIs() {
            let space = URLProtectionSpace(
                host: "apple.com", port: 80, protocol: "http", realm: nil, authenticationMethod: "basic")
            #expect(space.description.hasPrefix("<URLProtectionSpace"))
            #expect(
                space.description.hasSuffix(
                    ": Host:apple.com, Server:http, Auth-Scheme:NSURLAuthenticationMethodDefault, Realm:(null), Port:80,"
                        + " Proxy:NO, Proxy-Type:(null)"))
        }

        @Test func archivesAreEqual() throws {
            let credential = URLCredential(user: "anna", password: "secret", persistence: .forSession)
            let data = try NSKeyedArchiver.archivedData(withRootObject: credential, requiringSecureCoding: true)
            #expect(try NSKeyedUnarchiver.unarchivedObject(ofClass: URLCredential.self, from: data) == credential)
        }

        private func answer(
            _ text: String, size: Int = 2048, _ policy: URLCache.StoragePolicy = .allowed
        ) throws -> (URLRequest, CachedURLResponse) {
            let url = try #require(URL(string: text))
            let response = try #require(
                HTTPURLResponse(url: url, statusCode: 200, httpVersion: "1.1", headerFields: [:]))
            return (
                URLRequest(url: url),
                CachedURLResponse(response: response, data: Data(count: size), storagePolicy: policy)
            )
        }

        @Test func aCacheKeepsWhatItMay() throws {
            let cache = URLCache(memoryCapacity: 1 << 20, diskCapacity: 0, diskPath: nil)
            let (request, response) = try answer("https://a.example/")
            cache.storeCachedResponse(response, for: request)
            #expect(cache.cachedResponse(for: request) == response)
            let (other, forbidden) = try answer("https://b.example/", .notAllowed)
            cache.storeCachedResponse(forbidden, for: other)
            #expect(cache.cachedResponse(for: other) == nil)
            let (third, inMemory) = try answer("https://c.example/", .allowedInMemoryOnly)
            cache.storeCachedResponse(inMemory, for: third)
            cache.removeCachedResponses(since: Date(timeIntervalSinceNow: 60))
            cache.removeCachedResponse(for: request)
            #expect(cache.cachedResponse(for: request) == nil)
            #expect(cache.cachedResponse(for: third) == inMemory)
            cache.memoryCapacity = 0
            #expect(cache.cachedResponse(for: third) == nil)
        }

        // MARK: Protocols

        struct Odd: Error {}

        /// Loads by the last component of the URL.
        final class Pieces: URLProtocol, @unchecked Sendable {
            override class func canInit(with request: URLRequest) -> Bool { request.url?.host == "pieces.invalid" }
            override func startLoading() {
                guard let url = request.url, let client else { return }
                let kind = url.lastPathComponent
                if kind == "nothing" { return client.urlProtocolDidFinishLoading(self) }
                if kind == "odd" { return client.urlProtocol(self, didFailWithError: Odd()) }
                if let response = HTTPURLResponse(
                    url: url, statusCode: 203, httpVersion: "HTTP/1.1", headerFields: ["X-Kind": kind])
                {
                    client.urlProtocol(self, didReceive: response, cacheStoragePolicy: .notAllowed)
                }
                let marker = URLProtocol.property(forKey: "marker", in: request) as? String ?? ""
                let pieces = kind == "empty" ? [] : kind == "marker" ? [marker] : ["ab", "cd"]
                for piece in pieces { client.urlProtocol(self, didLoad: Data(piece.utf8)) }
                if kind == "broken" {
                    client.urlProtocol(self, didFailWithError: URLError(.networkConnectionLost))
                } else {
                    client.urlProtocolDidFinishLoading(self)
                }
            }
        }

        @Test(arguments: [
            ("empty", "", nil), ("pieces", "abcd", nil), ("marker", "present", nil),
            ("broken", nil, NSURLErrorNetworkConnectionLost), ("nothing", nil, NSURLErrorBadServerResponse),
            ("odd", nil, nil),
        ])
        func whatAProtocolLoads(_ kind: String, _ body: String?, _ code: Int?) async throws {
            let configuration = URLSessionConfiguration.ephemeral
            configuration.protocolClasses = [Pieces.self]
            let session = URLSession(configuration: configuration)
            let request = NSMutableURLRequest(url: try #require(URL(string: "https://pieces.invalid/\(kind)")))
            URLProtocol.setProperty("present", forKey: "marker", in: request)
            let seen = Guarded<(Data?, URLResponse?, (any Error)?, Bool)>((nil, nil, nil, false))
            session.dataTask(with: request as URLRequest) { data, response, error in
                seen.withLock { $0 = (data, response, error, true) }
            }.resume()
            #expect(await eventually(within: 10) { seen.withLock { $0.3 } })
            let (data, response, error, _) = seen.withLock { $0 }
            #expect(data == body.map { Data($0.utf8) })
            #expect((response as? HTTPURLResponse)?.statusCode == (body == nil ? nil : 203))
            #expect((error as? URLError)?.code.rawValue == code)
            #expect(error is Odd == (kind == "odd"))
        }
    }
}
