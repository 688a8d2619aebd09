import Foundation
import TestSupport
import Testing
import Threading
import TransferNetworking

extension TransferNetworkingSuite {
    @Suite struct DataTaskTests {
        private let resource = Resource.version(1, size: 300_000)

        @Test func aHandlerGetsTheBodyAndTheResponse() async throws {
            let scene = try await LibraryScene()
            scene.origin.serve("/a", .good(resource.with("X-Own", "yes")))
            let (data, response) = try await scene.session().data(from: scene.url("/a"))
            let http = try #require(response as? HTTPURLResponse)
            #expect(http.statusCode == 200)
            #expect(http.value(forHTTPHeaderField: "X-Own") == "yes")
            #expect(http.expectedContentLength == 300_000)
            #expect(Array(data) == resource.content.bytes)
        }

        @Test func anErrorStatusIsAResponse() async throws {
            let scene = try await LibraryScene()
            scene.origin.serve("/a", .status(503, body: "later"))
            let (data, response) = try await scene.session().data(from: scene.url("/a"))
            #expect((response as? HTTPURLResponse)?.statusCode == 503)
            #expect(String(decoding: data, as: UTF8.self) == "later")
            #expect(scene.origin.requests("/a").count == 1)
        }

        @Test func aDelegateGetsItsMessagesInOrder() async throws {
            let scene = try await LibraryScene()
            scene.origin.serve("/a", .good(resource))
            let recorder = Recorder()
            let session = scene.session(.ephemeral, recorder)
            session.dataTask(with: try scene.url("/a")).resume()
            session.finishTasksAndInvalidate()
            #expect(await recorder.wait(for: "invalid"))
            #expect(recorder.lines == ["created", "response 200", "data", "metrics", "complete 0", "invalid"])
            #expect(Array(recorder.seen.body) == resource.content.bytes)
            let transaction = try #require(recorder.seen.metrics?.transactionMetrics.first)
            #expect(transaction.networkProtocolName == "http/1.1")
            #expect(transaction.remotePort == Int(scene.origin.port))
            #expect(session.delegate == nil)
        }

        @Test func cancelledAtItsResponseATaskGetsNoData() async throws {
            let scene = try await LibraryScene()
            scene.origin.serve("/a", .good(resource))
            let recorder = Recorder(.init(cancelsAtResponse: true))
            scene.session(.ephemeral, recorder).dataTask(with: try scene.url("/a")).resume()
            #expect(await recorder.wait(for: "complete"))
            #expect(recorder.lines == ["created", "response 200", "metrics", "complete -999"])
        }

        @Test(arguments: [
            ("http://127.0.0.1:1/", URLError.cannotConnectToHost), ("http://name.invalid/", .cannotFindHost),
            ("nothing://a/", .unsupportedURL),
        ])
        func failuresHaveApplesCodes(_ text: String, _ code: URLError.Code) async throws {
            let scene = try await LibraryScene()
            let url = try #require(URL(string: text))
            let error = await #expect(throws: URLError.self) { try await scene.session().data(from: url) }
            #expect(error?.code == code)
            #expect(error?.userInfo[NSURLErrorFailingURLErrorKey] as? URL == url)
        }

        @Test func aRedirectIsFollowedOrIsTheResponse() async throws {
            let scene = try await LibraryScene()
            scene.origin.serve("/from", .redirect(to: "/to"))
            scene.origin.serve("/to", .good(resource))
            let follows = Recorder()
            scene.session(.ephemeral, follows).dataTask(with: try scene.url("/from")).resume()
            #expect(await follows.wait(for: "complete"))
            #expect(
                follows.lines == ["created", "redirect 302 GET /to", "response 200", "data", "metrics", "complete 0"])
            let refuses = Recorder(.init(redirects: false))
            scene.session(.ephemeral, refuses).dataTask(with: try scene.url("/from")).resume()
            #expect(await refuses.wait(for: "complete"))
            #expect(refuses.lines == ["created", "redirect 302 GET /to", "response 302", "metrics", "complete 0"])
        }

        /// As Foundation: 300 and 304 are responses, all others with a Location are followed.
        @Test(arguments: [
            (300, "GET", 300), (301, "GET", 200), (302, "GET", 200), (303, "HEAD", 200), (304, "GET", 304),
            (305, "GET", 200), (306, "GET", 200), (307, "GET", 200), (308, "GET", 200),
        ])
        func redirectsWithoutADelegate(_ status: Int, _ method: String, _ expected: Int) async throws {
            let scene = try await LibraryScene()
            scene.origin.serve("/from", .redirect(to: "/to", status: status))
            scene.origin.serve("/to", .status(200))
            var request = URLRequest(url: try scene.url("/from"))
            request.httpMethod = method
            let (_, response) = try await scene.session().data(for: request)
            #expect((response as? HTTPURLResponse)?.statusCode == expected)
            #expect(response.url?.path == (expected == 200 ? "/to" : "/from"))
            #expect(scene.origin.requests("/to").map(\.request.method) == (expected == 200 ? ["GET"] : []))
        }

        /// The question about the redirect does not show the secrets of its URL.
        @Test func aRedirectWithAChangedFieldKeepsItsURL() async throws {
            let scene = try await LibraryScene()
            scene.origin.serve("/from", .redirect(to: "/to?X-Amz-Signature=abc&token=def"))
            scene.origin.serve("/to", .choose { .status(200, body: "\($0.query ?? "") \($0.header("X-Own") ?? "")") })
            let recorder = Recorder(.init(addsField: true))
            let session = scene.session(.ephemeral, recorder)
            let (data, response) = try await session.data(from: scene.url("/from"))
            #expect(String(decoding: data, as: UTF8.self) == "X-Amz-Signature=abc&token=def yes")
            #expect(response.url?.query == "X-Amz-Signature=abc&token=def")
        }

        @Test func the17thRedirectIsTooMany() async throws {
            let scene = try await LibraryScene()
            scene.origin.serveEverything(.redirect { "/\($0)" })
            let error = await #expect(throws: URLError.self) { try await scene.session().data(from: scene.url("/0")) }
            #expect(error?.code == .httpTooManyRedirects)
            #expect(scene.origin.requests().count == 17)
        }

        @Test func aChallengeIsAnsweredByTheDelegate() async throws {
            let scene = try await LibraryScene()
            scene.origin.serve("/a", .basic(Data("anna:secret".utf8).base64EncodedString(), then: .good(resource)))
            let right = Recorder(.init(credential: URLCredential(user: "anna", password: "secret", persistence: .none)))
            scene.session(.ephemeral, right).dataTask(with: try scene.url("/a")).resume()
            #expect(await right.wait(for: "complete"))
            #expect(right.lines == ["created", "challenge test 0", "response 200", "data", "metrics", "complete 0"])
            let wrong = Recorder(.init(credential: URLCredential(user: "anna", password: "no", persistence: .none)))
            scene.session(.ephemeral, wrong).dataTask(with: try scene.url("/a")).resume()
            #expect(await wrong.wait(for: "complete"))
            #expect(
                wrong.lines == [
                    "created", "challenge test 0", "challenge test 1", "response 401", "metrics", "complete 0",
                ])
        }

        /// The request is a POST, and its answer comes once.
        @Test func becomesADownloadWithoutAnotherRequest() async throws {
            let scene = try await LibraryScene()
            scene.origin.serve("/a", .good(resource), .status(410))
            let recorder = Recorder(.init(disposition: .becomeDownload))
            var request = URLRequest(url: try scene.url("/a"))
            request.httpMethod = "POST"
            request.httpBody = Data("x=1".utf8)
            scene.session(.ephemeral, recorder).dataTask(with: request).resume()
            #expect(await recorder.wait(for: "complete"))
            #expect(
                recorder.lines.filter { !$0.hasPrefix("sent") } == [
                    "created", "response 200", "created", "became", "file", "metrics", "complete 0",
                ])
            #expect(recorder.holds(resource))
            #expect(
                scene.origin.requests("/a").map { $0.header("Content-Type") } == ["application/x-www-form-urlencoded"])
        }

        @Test func bytesComeAsTheyAreRead() async throws {
            let scene = try await LibraryScene()
            let large = Resource.version(2, size: 3_000_000)
            scene.origin.serve("/a", .good(large))
            let (bytes, _) = try await scene.session().bytes(from: scene.url("/a"))
            var count = 0
            for try await byte in bytes {
                if byte != large.content.bytes[count] { break }
                count += 1
            }
            #expect(count == 3_000_000)
        }

        @Test func bytesThatNobodyCanReadEndTheirTask() async throws {
            let scene = try await LibraryScene()
            scene.origin.serve("/a", .good(.version(2, size: 30_000_000)))
            let session = scene.session()
            func begin() async throws -> URLSessionDataTask {
                let (bytes, _) = try await session.bytes(from: scene.url("/a"))
                var iterator = bytes.makeAsyncIterator()
                #expect(try await iterator.next() != nil)
                return bytes.task
            }
            let task = try await begin()
            #expect(await eventually(within: 10) { task.state == .completed })
            #expect((task.error as? URLError)?.code == .cancelled)
        }

        @Test func cancellingTheSwiftTaskCancelsTheTransfer() async throws {
            let scene = try await LibraryScene()
            scene.origin.serve("/a", .silent)
            let (session, url) = (scene.session(), try scene.url("/a"))
            let waiting = Task { try await session.data(from: url) }
            #expect(await eventually(within: 10) { !scene.origin.requests("/a").isEmpty })
            waiting.cancel()
            let error = await #expect(throws: URLError.self) { try await waiting.value }
            #expect(error?.code == .cancelled)
        }

        /// A failure to reach the daemon is no reason to wait for ever with the next task.
        @Test(.timeLimit(.minutes(1))) func withoutADaemonEachTaskFails() async throws {
            let scene = try await LibraryScene()
            let configuration = URLSessionConfiguration.ephemeral
            configuration.daemonSocket = scene.daemon.folder.file("nobody.sock")
            let (session, url) = (URLSession(configuration: configuration), try scene.url("/a"))
            for _ in 0..<2 {
                let error = await #expect(throws: URLError.self) { try await session.data(from: url) }
                #expect(error?.code == .networkConnectionLost)
            }
        }

        @Test func refusesABodyWithGET() async throws {
            let scene = try await LibraryScene()
            var request = URLRequest(url: try scene.url("/a"))
            request.httpBody = Data("x".utf8)
            let (session, wrong) = (scene.session(), request)
            let error = await #expect(throws: URLError.self) { try await session.data(for: wrong) }
            #expect(error?.code == .dataLengthExceedsMaximum)
        }

        /// One task that cannot be added takes no other with it.
        @Test func manyTasksEndEachOnItsOwn() async throws {
            let scene = try await LibraryScene()
            scene.origin.serve("/a", .status(200, body: "fine"))
            let (session, good) = (scene.session(), try scene.url("/a"))
            let bad = try #require(URL(string: "nothing://a/"))
            let results = Guarded<[Int: String]>([:])
            for index in 0..<300 {
                session.dataTask(with: index % 50 == 7 ? bad : good) { data, _, error in
                    let text =
                        data.map { String(decoding: $0, as: UTF8.self) }
                        ?? "\((error as? URLError)?.code.rawValue ?? 0)"
                    results.withLock { $0[index] = text }
                }.resume()
            }
            #expect(await eventually(within: 30) { results.withLock { $0.count } == 300 })
            #expect(
                results.withLock { results in results.filter { $0.value != ($0.key % 50 == 7 ? "-1002" : "fine") } }
                    .isEmpty
            )
        }

        @Test func aLostDaemonEndsVolatileTasksAndServesTheNext() async throws {
            let scene = try await LibraryScene()
            scene.origin.serve("/a", .silent, .status(200, body: "again"))
            let (session, url) = (scene.session(), try scene.url("/a"))
            let waiting = Task { try await session.data(from: url) }
            #expect(await eventually(within: 10) { !scene.origin.requests("/a").isEmpty })
            try await scene.daemon.restart()
            let error = await #expect(throws: URLError.self) { try await waiting.value }
            #expect(error?.code == .networkConnectionLost)
            #expect(String(decoding: try await session.data(from: url).0, as: UTF8.self) == "again")
        }
    }
}
