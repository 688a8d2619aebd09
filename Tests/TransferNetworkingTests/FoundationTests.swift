import Foundation
import TestSupport
import Testing
import Threading
import TransferNetworking

extension TransferNetworkingSuite {
    /// What code relies on that was written for Foundation's URLSession.
    @Suite struct FoundationTests {
        private static let methods = ["HEAD", "GET", "PUT", "POST", "DELETE"]

        /// Sends back its method, its body and its media type.
        private static let mirror = Behaviour.choose { request in
            let text = "\(request.method) \(request.body.count) \(request.header("Content-Type") ?? "-")"
            return request.method == "HEAD" ? .status(200, [("X-Method", "HEAD")]) : .status(200, body: text)
        }

        private func messages(_ recorder: Recorder) -> [String] {
            recorder.lines.filter { !["created", "metrics"].contains($0) }
        }

        /// 300 and 304 are responses, 303 is followed by GET, and 301 and 302 turn POST alone into GET.
        @Test(arguments: [300, 301, 302, 303, 304, 305, 306, 307, 308])
        func redirectsByStatusAndMethod(_ status: Int) async throws {
            let scene = try await LibraryScene()
            let redirect = Behaviour.choose { request in
                let isEmpty = request.method == "HEAD" || status == 304
                return .status(status, [("Location", "to")], body: isEmpty ? "" : "elsewhere")
            }
            scene.origin.serve("/from", redirect)
            scene.origin.serve("/to", Self.mirror)
            for method in Self.methods {
                var request = URLRequest(url: try scene.url("/from"))
                request.httpMethod = method
                let recorder = Recorder()
                scene.session(.ephemeral, recorder).dataTask(with: request).resume()
                #expect(await recorder.wait(for: "complete"))
                let isFollowed = ![300, 304].contains(status)
                let turns = status == 303 || status < 303 && method == "POST"
                let next = isFollowed && turns ? "GET" : method
                let hasBody = status != 304 && next != "HEAD"
                let expected =
                    (isFollowed ? ["redirect \(status) \(next) /to"] : [])
                    + ["response \(isFollowed ? 200 : status)"] + (hasBody ? ["data"] : []) + ["complete 0"]
                #expect(messages(recorder) == expected, "\(method)")
                let body = String(decoding: recorder.seen.body, as: UTF8.self)
                #expect(body == (!hasBody ? "" : isFollowed ? "\(next) 0 -" : "elsewhere"), "\(method)")
            }
        }

        @Test func aRefusedRedirectHasItsOwnBody() async throws {
            let scene = try await LibraryScene()
            scene.origin.serve("/from", .status(302, [("Location", "/to")], body: "elsewhere"))
            let recorder = Recorder(.init(redirects: false))
            scene.session(.ephemeral, recorder).dataTask(with: try scene.url("/from")).resume()
            #expect(await recorder.wait(for: "complete"))
            #expect(messages(recorder) == ["redirect 302 GET /to", "response 302", "data", "complete 0"])
            #expect(String(decoding: recorder.seen.body, as: UTF8.self) == "elsewhere")
        }

        /// A body that is there and empty is none: no media type is added, and nothing is told of it.
        @Test(arguments: [nil, "text/plain; charset=utf-8"]) func emptyBodies(_ type: String?) async throws {
            let scene = try await LibraryScene()
            scene.origin.serve("/a", Self.mirror)
            for method in Self.methods {
                for body in [nil, Data()] {
                    var request = URLRequest(url: try scene.url("/a"))
                    request.httpMethod = method
                    request.httpBody = body
                    request.setValue(type, forHTTPHeaderField: "Content-Type")
                    let recorder = Recorder()
                    scene.session(.ephemeral, recorder).dataTask(with: request).resume()
                    #expect(await recorder.wait(for: "complete"))
                    let hasBody = method != "HEAD"
                    #expect(messages(recorder) == ["response 200"] + (hasBody ? ["data"] : []) + ["complete 0"])
                    let text = String(decoding: recorder.seen.body, as: UTF8.self)
                    #expect(text == (hasBody ? "\(method) 0 \(type ?? "-")" : ""))
                }
            }
        }

        /// POST has a media type by default, other methods have none.
        @Test(arguments: ["PUT", "POST", "DELETE"]) func bodies(_ method: String) async throws {
            let scene = try await LibraryScene()
            scene.origin.serve("/a", Self.mirror)
            for type in [nil, "text/plain"] {
                for isStream in [false, true] {
                    var request = URLRequest(url: try scene.url("/a"))
                    request.httpMethod = method
                    let body = Data("hello".utf8)
                    if isStream { request.httpBodyStream = InputStream(data: body) } else { request.httpBody = body }
                    request.setValue(type, forHTTPHeaderField: "Content-Type")
                    let recorder = Recorder()
                    scene.session(.ephemeral, recorder).dataTask(with: request).resume()
                    #expect(await recorder.wait(for: "complete"))
                    #expect(messages(recorder) == ["sent 5 of 5", "response 200", "data", "complete 0"])
                    let usual = method == "POST" ? "application/x-www-form-urlencoded" : "-"
                    #expect(String(decoding: recorder.seen.body, as: UTF8.self) == "\(method) 5 \(type ?? usual)")
                }
            }
        }

        @Test(arguments: [
            ("HTTP/1.1\r\n\r\n\r\n", nil), ("HTTP/1.1 20 Too Few\r\na: b\r\n\r\n", nil),
            ("HTTP/1.1 2000 Too Many\r\na: b\r\n\r\n", nil), ("HTTP/1.1 999 Odd\r\na: b\r\n\r\n", 999),
            ("HTTP/1.1 200 OK\r\n\r\nno length\r\n", 200),
        ])
        func strangeAnswers(_ answer: String, _ status: Int?) async throws {
            let scene = try await LibraryScene()
            scene.origin.serve(
                "/a",
                Behaviour { _, reply in
                    try reply.raw(Array(answer.utf8)[...])
                    throw Reply.Gone()
                })
            let seen = Guarded<(Data?, Int?, (any Error)?, Bool)>((nil, nil, nil, false))
            let task = scene.session().dataTask(with: try scene.url("/a")) { data, response, error in
                seen.withLock { $0 = (data, (response as? HTTPURLResponse)?.statusCode, error, true) }
            }
            task.resume()
            #expect(await eventually(within: 20) { seen.withLock { $0.3 } })
            let (data, code, error, _) = seen.withLock { $0 }
            #expect(code == status)
            #expect((data != nil) == (status != nil))
            #expect((error == nil) == (status != nil))
        }

        @Test func aCodedBodyIsDecoded() async throws {
            let scene = try await LibraryScene()
            let text = "Hello World!"
            let coded = try #require(Data(base64Encoded: "H4sIAAAAAAAAA/NIzcnJVwjPL8pJUQQAoxwpHAwAAAA="))
            scene.origin.serve(
                "/a",
                Behaviour { _, reply in
                    try reply.head(200, "OK", [("Content-Encoding", "gzip"), ("Content-Length", "\(coded.count)")])
                    try reply.body(Array(coded)[...])
                })
            let url = try scene.url("/a")
            #expect(String(decoding: try await scene.session().data(from: url).0, as: UTF8.self) == text)
            let recorder = Recorder()
            let task = scene.session(.ephemeral, recorder).downloadTask(with: url)
            task.resume()
            #expect(await recorder.wait(for: "complete"))
            #expect(recorder.seen.file == Data(text.utf8))
            #expect(task.countOfBytesReceived == Int64(text.utf8.count))
        }

        @Test func a401WithoutAChallengeIsAResponse() async throws {
            let scene = try await LibraryScene()
            scene.origin.serve("/a", .status(401))
            let (_, response) = try await scene.session().data(from: scene.url("/a"))
            #expect((response as? HTTPURLResponse)?.statusCode == 401)
        }

        @Test func errorsHaveFoundationsCodesAndWords() async throws {
            let scene = try await LibraryScene()
            let session = scene.session()
            var request = URLRequest(url: try scene.url("/a"))
            request.url = nil
            let withoutURL = request
            await #expect(throws: URLError.self) { try await session.data(for: withoutURL) }.map {
                #expect($0.code == .unsupportedURL)
                #expect($0.localizedDescription == "unsupported URL")
            }
            request = URLRequest(url: try scene.url("/a"))
            request.httpBody = Data("x".utf8)
            let withBody = request
            await #expect(throws: URLError.self) { try await session.data(for: withBody) }.map {
                #expect($0.code == .dataLengthExceedsMaximum)
                #expect($0.localizedDescription == "resource exceeds maximum size")
            }
        }

        @Test func anInvalidatedSessionHasNoTasks() async throws {
            let scene = try await LibraryScene()
            scene.origin.serveEverything(.silent)
            let (session, url) = (scene.session(.ephemeral, Recorder()), try scene.url("/a"))
            let ends = Guarded<[URLError]>([])
            let late = session.dataTask(with: url) { _, _, _ in }
            for _ in 0..<2 {
                session.dataTask(with: url) { _, _, error in
                    if let error = error as? URLError { ends.withLock { $0.append(error) } }
                }.resume()
            }
            session.invalidateAndCancel()
            #expect(await eventually(within: 20) { ends.withLock { $0.count } == 2 })
            for error in ends.withLock({ $0 }) {
                #expect(error.code == .cancelled)
                #expect(error.localizedDescription == "cancelled")
                #expect(error.userInfo[NSURLErrorFailingURLErrorKey] as? URL == url)
                #expect(error.userInfo["NSErrorFailingURLStringKey"] as? String == url.absoluteString)
            }
            #expect(await session.allTasks.isEmpty)
            late.resume()
            #expect(await session.allTasks.isEmpty)
            #expect(await eventually(within: 10) { session.delegate == nil })
        }

        @Test func ownFieldsWinOverTheSessions() async throws {
            let scene = try await LibraryScene()
            scene.origin.serve(
                "/a",
                .choose { request in
                    .status(
                        200, body: ["One", "two", "three"].map { request.header($0) ?? "-" }.joined(separator: " "))
                })
            let configuration = scene.configuration()
            configuration.httpAdditionalHeaders = ["two": "session", "three": "session"]
            var request = URLRequest(url: try scene.url("/a"))
            request.allHTTPHeaderFields = ["one": "own", "Two": "own"]
            let (data, _) = try await URLSession(configuration: configuration).data(for: request)
            #expect(String(decoding: data, as: UTF8.self) == "own own session")
        }

        /// Programs set these in spite of the documentation; a body is decoded, whoever asked for its coding.
        @Test(arguments: [true, false]) func fieldsThatTheLoaderSetsAreLeftOut(_ inSession: Bool) async throws {
            let scene = try await LibraryScene()
            let coded = try #require(Data(base64Encoded: "H4sIAAAAAAAAA/NIzcnJVwjPL8pJUQQAoxwpHAwAAAA="))
            scene.origin.serve(
                "/a",
                Behaviour { _, reply in
                    try reply.head(200, "OK", [("Content-Encoding", "gzip"), ("Content-Length", "\(coded.count)")])
                    try reply.body(Array(coded)[...])
                })
            let fields = ["Accept-Encoding": "gzip;q=0.9", "Connection": "close", "Content-Length": "7", "TE": "x"]
            let configuration = scene.configuration()
            var request = URLRequest(url: try scene.url("/a"))
            if inSession { configuration.httpAdditionalHeaders = fields } else { request.allHTTPHeaderFields = fields }
            let session = URLSession(configuration: configuration)
            #expect(try await session.data(for: request).0 == Data("Hello World!".utf8))
            let file = try await session.download(for: request).0
            defer { try? FileManager.default.removeItem(at: file) }
            #expect(try Data(contentsOf: file) == Data("Hello World!".utf8))
            for seen in scene.origin.requests("/a") { #expect(seen.header("Content-Length") == nil) }
        }

        /// "No timeout" has many spellings.
        @Test(arguments: [Double.infinity, .greatestFiniteMagnitude, 1e10, 0]) func longTimeouts(_ seconds: Double)
            async throws
        {
            let scene = try await LibraryScene()
            scene.origin.serve("/a", .status(200, body: "x"))
            let configuration = scene.configuration()
            if seconds > 0 { configuration.timeoutIntervalForResource = seconds }
            var request = URLRequest(url: try scene.url("/a"))
            request.timeoutInterval = seconds
            #expect(try await URLSession(configuration: configuration).data(for: request).0 == Data("x".utf8))
        }

        @Test func metricsCountRedirects() async throws {
            let scene = try await LibraryScene()
            scene.origin.serve("/0", .redirect(to: "/1"))
            scene.origin.serve("/1", .redirect(to: "/2"))
            scene.origin.serve("/2", .status(200, body: "x"))
            for (redirects, count) in [(true, 2), (false, 0)] {
                let recorder = Recorder(.init(redirects: redirects))
                scene.session(.ephemeral, recorder).dataTask(with: try scene.url("/0")).resume()
                #expect(await recorder.wait(for: "complete"))
                #expect(recorder.seen.metrics?.redirectCount == count)
            }
        }

        @Test func aTaskIsItsCopy() throws {
            let task = URLSession(configuration: .ephemeral).dataTask(with: try #require(URL(string: "http://a/")))
            #expect(task.isEqual(task.copy()))
        }

        /// RFC 2397.
        @Test(arguments: [
            ("data:,123", "123", "text/plain", nil),
            ("data:a/b;key=value;charset=macroman,blah", "blah", "a/b", "macroman"),
            ("data:;charset=utf-8;base64,w6Q=", "ä", "text/plain", "utf-8"),
            ("data:text/plain;charset=utf-8,%c3%a4", "ä", "text/plain", "utf-8"),
            ("data:application/json;charset=iso-8859-1;key=value,,123", ",123", "application/json", "iso-8859-1"),
            ("data:;charset=utf-8;charset=utf-16;image/png,abc", "abc", "text/plain", "utf-8"),
        ])
        func dataURLs(_ text: String, _ body: String, _ type: String, _ encoding: String?) async throws {
            let scene = try await LibraryScene()
            let (data, response) = try await scene.session().data(from: try #require(URL(string: text)))
            #expect(String(decoding: data, as: UTF8.self) == body)
            #expect(response.url?.absoluteString == text)
            #expect(response.mimeType == type)
            #expect(response.textEncodingName == encoding)
            #expect(response.expectedContentLength == Int64(body.utf8.count))
        }

        @Test func aDataURLIsDownloadedToo() async throws {
            let scene = try await LibraryScene()
            let recorder = Recorder()
            scene.session(.ephemeral, recorder).downloadTask(with: try #require(URL(string: "data:,123"))).resume()
            #expect(await recorder.wait(for: "complete"))
            #expect(messages(recorder) == ["file", "complete 0"])
            #expect(recorder.seen.file == Data("123".utf8))
        }

        @Test(arguments: ["data://blah", "data:%2c123", "data:application_json;charset=iso-8859-%31;key=value,123,"])
        func wrongDataURLs(_ text: String) async throws {
            let scene = try await LibraryScene()
            let recorder = Recorder()
            scene.session(.ephemeral, recorder).dataTask(with: try #require(URL(string: text))).resume()
            #expect(await recorder.wait(for: "complete"))
            #expect(messages(recorder).count == 1 && messages(recorder) != ["complete 0"])
        }
    }
}
