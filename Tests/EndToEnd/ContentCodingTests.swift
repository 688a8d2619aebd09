import Glibc
import TestSupport
import Testing
import TransferModel

extension EndToEnd.Gathering {
    /// RFC 9110 section 8.4: when a body is decoded, and what ends a body that is not what it claims to be.
    @Suite(.oneDaemon) struct ContentCodings {
        private static let codings = ["gzip", "deflate", "br", "zstd", "gzip, br"]
        private let plain = Content(bytes: Packing.text(400_000))

        private func coded(_ content: Content, _ coding: String) async throws -> Resource {
            Resource(Content(bytes: try await Packing.pack(content.bytes, coding)), etag: "\"\(coding)\"")
        }

        private func ask(
            _ scene: Scene, _ path: String, _ more: [String: JSONValue] = [:]
        ) async throws -> Int64 {
            let spec: [String: JSONValue] = [
                "kind": "data", "url": .string(scene.origin.url(path)), "retry": ["attempts": 1],
            ]
            return try await scene.probe.add([.object(spec.merging(more) { $1 })])[0]
        }

        private func body(_ scene: Scene, _ id: Int64) async throws -> [UInt8] {
            let piece = try await scene.probe.call("task.body", ["id": .integer(id)])
            return Base64Text.decode(piece["data"]?.stringValue ?? "")
        }

        // MARK: Data tasks

        @Test(.timeLimit(.minutes(1)))
        func aDataTaskGetsTheDecodedBody() async throws {
            let scene = try await Scene.shared()
            for coding in Self.codings {
                let resource = try await coded(plain, coding)
                scene.origin.serve("/length", .coded(resource, coding))
                scene.origin.serve(
                    "/chunked", .chunked(resource.with("Content-Encoding", coding), isEnded: true))
                for path in ["/length", "/chunked"] {
                    let id = try await ask(scene, path)
                    let task = try await scene.probe.wait(for: id, "completed")
                    #expect(task["bytesReceived"]?.integerValue == Int64(plain.size), "\(coding) \(task)")
                    #expect(Content(bytes: try await body(scene, id)) == plain, "\(coding)")
                    let fields = task["response", "headers"]?.arrayValue ?? []
                    #expect(fields.contains(["Content-Encoding", .string(coding)]))
                }
            }
            #expect(
                scene.origin.requests("/length").allSatisfy {
                    $0.header("Accept-Encoding") == "gzip, deflate, br, zstd"
                })
        }

        @Test(.timeLimit(.minutes(1)))
        func whoAsksForACodingGetsTheBodyInIt() async throws {
            let scene = try await Scene.shared()
            let resource = try await coded(plain, "br")
            scene.origin.serve("/page", .coded(resource, "br"))
            let id = try await ask(scene, "/page", ["headers": [["accept-encoding", "br"]]])
            try await scene.probe.wait(for: id, "completed")
            #expect(Content(bytes: try await body(scene, id)) == resource.content)
            #expect(scene.origin.requests("/page").allSatisfy { $0.header("Accept-Encoding") == "br" })
        }

        /// An answer without a body may still name a coding.
        @Test(.timeLimit(.minutes(1)))
        func nothingIsDecodedToNothing() async throws {
            let scene = try await Scene.shared()
            for status in [200, 204, 304] {
                scene.origin.serve("/\(status)", .status(status, [("Content-Encoding", "gzip")]))
                try await scene.probe.wait(for: try await ask(scene, "/\(status)"), "completed")
            }
            scene.origin.serve("/head", .coded(try await coded(plain, "gzip"), "gzip"))
            try await scene.probe.wait(for: try await ask(scene, "/head", ["method": "HEAD"]), "completed")
            scene.origin.serve("/file", .coded(Resource(Content(bytes: []), etag: "\"none\""), "gzip"))
            try await scene.probe.wait(for: try await scene.add(), "completed")
            #expect(try Files.read(scene.file()).isEmpty && scene.names == ["file"])
        }

        @Test(.timeLimit(.minutes(1)))
        func whatAServerSaysOfAnErrorIsReadable() async throws {
            let scene = try await Scene.shared()
            let why = try await coded(Content("There is no such page."), "gzip")
            scene.origin.serve(
                "/page",
                Behaviour { _, reply in
                    let bytes = why.content.bytes
                    try reply.head(
                        404, "Not Found", [("Content-Encoding", "gzip"), ("Content-Length", "\(bytes.count)")])
                    try reply.body(bytes[...])
                })
            let task = try await scene.probe.wait(for: try await ask(scene, "/page"), "failed")
            #expect(task.errorCode == "http.status")
            #expect(task["response", "body", "text"] == "There is no such page.")
            let wanted = try await ask(scene, "/page", ["acceptsAnyStatus": true])
            try await scene.probe.wait(for: wanted, "completed")
            #expect(Content(bytes: try await body(scene, wanted)) == Content("There is no such page."))
        }

        @Test(.timeLimit(.minutes(1)))
        func aPartOfABodyStaysAsItCame() async throws {
            let scene = try await Scene.shared()
            let resource = try await coded(plain, "gzip")
            scene.origin.serve("/page", .coded(resource, "gzip"))
            let id = try await ask(scene, "/page", ["headers": [["Range", "bytes=10-19"]]])
            try await scene.probe.wait(for: id, "completed")
            #expect(try await body(scene, id) == Array(resource.content.bytes[10..<20]))
            #expect(scene.origin.requests("/page").first?.header("Accept-Encoding") == "identity")
        }

        /// The length is right, or the last chunk is there: only the coding shows that something is missing.
        @Test(.timeLimit(.minutes(1)))
        func aCutOrDamagedBodyIsNoAnswer() async throws {
            let scene = try await Scene.shared()
            for coding in Self.codings {
                let whole = try await coded(plain, coding).content.bytes
                let cut = Resource(Content(bytes: Array(whole.dropLast(9))), etag: nil)
                scene.origin.serve("/length", .coded(cut, coding))
                scene.origin.serve("/chunked", .chunked(cut.with("Content-Encoding", coding), isEnded: true))
                scene.origin.serve("/close", .closeDelimited(cut.with("Content-Encoding", coding)))
                let other = coding == "br" ? "gzip" : "br"
                scene.origin.serve("/other", .coded(Resource(Content(seed: 4, size: 3000)), other))
                for (path, code) in [
                    ("/length", "integrity.length"), ("/chunked", "integrity.length"), ("/close", "integrity.length"),
                    ("/other", "http.protocol"),
                ] {
                    let task = try await scene.probe.wait(for: try await ask(scene, path), "failed")
                    #expect(task.errorCode == code, "\(coding) \(path): \(task)")
                    #expect(task["response", "body"] == nil, "\(task)")
                }
            }
            // A later attempt may get the complete body.
            scene.origin.serve(
                "/page", .coded(Resource(Content(bytes: [0x1f, 0x8b]), etag: nil), "gzip"),
                .coded(try await coded(plain, "gzip"), "gzip"))
            let id = try await ask(scene, "/page", Scene.quickRetry)
            try await scene.probe.wait(for: id, "completed")
            #expect(Content(bytes: try await body(scene, id)) == plain)
        }

        /// The same body comes again: a second try is enough, for a data task as for a download.
        @Test(.timeLimit(.minutes(1)), arguments: [("/other", "http.protocol"), ("/cut", "integrity.length")])
        func aBodyThatIsWrongTwiceEndsTheTask(path: String, code: String) async throws {
            let scene = try await Scene.shared()
            let cut = Array(try await coded(plain, "gzip").content.bytes.dropLast(9))
            scene.origin.serve("/other", .coded(Resource(Content(seed: 4, size: 3000)), "gzip"))
            scene.origin.serve("/cut", .coded(Resource(Content(bytes: cut)), "gzip"))
            for id in [try await ask(scene, path, Scene.quickRetry), try await scene.add(path, to: "file")] {
                let task = try await scene.probe.wait(for: id, "failed")
                #expect(task.errorCode == code && task["attempts"] == 2, "\(task)")
                #expect(task["error", "retryable"] == false && task["error", "details", "coding"] == "gzip", "\(task)")
            }
            #expect(await eventually { scene.names.isEmpty }, "\(scene.names)")
        }

        /// What came is kept until it can be delivered.
        @Test(.timeLimit(.minutes(1)), arguments: [3000, 400_000])
        func aDecodedFileThatCannotBeDeliveredIsNotFetchedAgain(size: Int) async throws {
            let scene = try await Scene.shared()
            let plain = Content(bytes: Packing.text(size))
            scene.origin.serve("/file", .coded(try await coded(plain, "gzip"), "gzip"))
            try Files.write(scene.file(), "mine")
            let id = try await scene.add("/file", to: "file", ["conflictPolicy": "fail"])
            let task = try await scene.probe.wait(for: id, "failed")
            #expect(task.errorCode == "destination.exists" && task["error", "resumable"] == true, "\(task)")
            #expect(scene.names.count == 2, "\(scene.names)")
            unlink(scene.file())
            try await scene.probe.control("retry", id)
            try await scene.probe.wait(for: id, "completed")
            #expect(plain.matches(scene.file()) && scene.names == ["file"], "\(scene.names)")
            #expect(scene.origin.requests("/file").count == 1, "\(scene.origin.requests("/file"))")
        }

        /// Under a plain name there is plain content.
        @Test(.timeLimit(.minutes(1)))
        func theNameOfAFileTellsAnUnknownCoding() async throws {
            let scene = try await Scene.shared()
            let resource = Resource(Content(seed: 4, size: 3000))
            scene.origin.serve("/page", .coded(resource, "foo"))
            try await scene.probe.wait(for: try await scene.add("/page", to: "page"), "completed")
            #expect(scene.names == ["page.foo"] && resource.content.matches(scene.file("page.foo")))
        }

        @Test(.timeLimit(.minutes(1)))
        func anUnknownCodingIsSaidAndNotTakenForTheAnswer() async throws {
            let scene = try await Scene.shared()
            scene.origin.serve("/page", .coded(Resource(Content(seed: 4, size: 3000)), "compress"))
            let task = try await scene.probe.wait(for: try await ask(scene, "/page", Scene.quickRetry), "failed")
            #expect(task.errorCode == "http.protocol" && task["attempts"] == 1)
            #expect(task["error", "message"]?.stringValue?.contains("compress") == true)
        }

        /// Neither kind of task takes a body that is not decoded for the content.
        @Test(.timeLimit(.minutes(1)))
        func tooManyLayersFailEveryTask() async throws {
            let scene = try await Scene.shared()
            let codings = "gzip, gzip, gzip, gzip, gzip, gzip"
            scene.origin.serve("/page", .coded(Resource(Content(seed: 4, size: 3000)), codings))
            for id in [try await ask(scene, "/page"), try await scene.add("/page", to: "page")] {
                let task = try await scene.probe.wait(for: id, "failed")
                #expect(task.errorCode == "http.protocol" && task["attempts"] == 1, "\(task)")
            }
            #expect(await eventually { scene.names.isEmpty })
        }

        // MARK: Bombs

        @Test(.timeLimit(.minutes(2)), arguments: ["gzip", "br", "zstd"])
        func aBombEndsAtItsRatioAndIsNotFetchedAgain(coding: String) async throws {
            let scene = try await Scene()
            let before = try scene.daemon.residentMemory()
            let bomb = try await coded(Content(bytes: [UInt8](repeating: 0, count: 64 << 20)), coding)
            scene.origin.serve("/bomb", .coded(bomb, coding))
            let asked = try await ask(scene, "/bomb", Scene.quickRetry)
            let added = try await scene.add("/bomb", to: "bomb")
            for id in [asked, added] {
                let task = try await scene.probe.wait(for: id, "failed")
                #expect(task.errorCode == "http.protocol" && task["attempts"] == 1, "\(task)")
                #expect(task["error", "details", "coded"]?.integerValue == Int64(bomb.content.size))
            }
            #expect(scene.origin.requests("/bomb").count == 2)
            #expect(try scene.daemon.peakMemory() - before < 64 << 20)
            #expect(!Files.exists(scene.file("bomb")))
            // The body is complete, and can be delivered without requesting another byte.
            try await scene.probe.call(
                "task.update",
                ["id": .integer(added), "destination": ["path": .string(scene.file("bomb.\(ending(coding))"))]])
            try await scene.probe.control("retry", added)
            try await scene.probe.wait(for: added, "completed")
            #expect(bomb.content.matches(scene.file("bomb.\(ending(coding))")))
            #expect(scene.names == ["bomb.\(ending(coding))"])
            #expect(scene.origin.requests("/bomb").count == 2)
        }

        private func ending(_ coding: String) -> String { ["gzip": "gz", "zstd": "zst"][coding] ?? coding }

        /// Not a bomb, but longer than what is kept.
        @Test(.timeLimit(.minutes(1)))
        func aDecodedAnswerHasTheLimitOfAnyAnswer() async throws {
            let scene = try await Scene.shared()
            let long = try await coded(Content(bytes: Packing.text(Bounds.dataAnswer + 1)), "gzip")
            scene.origin.serve("/page", .coded(long, "gzip"))
            let task = try await scene.probe.wait(for: try await ask(scene, "/page"), "failed")
            #expect(task.errorCode == "request.too_large")
            scene.origin.serve("/file", .coded(long, "gzip"))
            try await scene.probe.wait(for: try await scene.add(), "completed")
            #expect(Files.status(scene.file())?.st_size == Bounds.dataAnswer + 1)
        }

        // MARK: Downloads

        /// Servers give a coding to files that have it themselves, and code archives once more. The checksum tells which
        /// form is the file.
        @Test(.timeLimit(.minutes(1)), arguments: [3000, 400_000])
        func theFormThatFitsTheChecksumIsDelivered(size: Int) async throws {
            let scene = try await Scene.shared()
            let text = Content(bytes: Packing.text(size))
            let once = try await coded(text, "gzip")
            let twice = try await coded(once.content, "gzip")
            for (number, (sent, coding, name, file)) in [
                (once, "gzip", "page", text), (once, "gzip", "page", once.content),
                (twice, "gzip", "x.tar.gz", once.content), (twice, "gzip", "x.tar.gz", twice.content),
                (twice, "gzip, gzip", "x.tar.gz", text), (twice, "gzip, gzip", "page", once.content),
            ].enumerated() {
                scene.origin.serve("/\(number)", .coded(sent, coding))
                let id = try await scene.add("/\(number)", to: "\(number)-\(name)", ["checksum": file.checksum])
                let task = try await scene.probe.wait(for: id, "completed", "failed")
                #expect(task["verified"] == true && file.matches(scene.file("\(number)-\(name)")), "\(number) \(task)")
                #expect(scene.origin.requests("/\(number)").count == 1)
            }
            #expect(scene.names.count == 6, "\(scene.names)")
            scene.origin.serve("/page", .coded(once, "gzip"))
            let wrong = try await scene.add("/page", to: "page", ["checksum": Content("other").checksum])
            #expect(try await scene.probe.wait(for: wrong, "failed").errorCode == "integrity.checksum")
        }

        @Test(.timeLimit(.minutes(1)))
        func aDownloadThatComesCodedIsDecoded() async throws {
            let scene = try await Scene.shared()
            for (number, coding) in Self.codings.enumerated() {
                for (name, content) in [("small", Content("hello\n")), ("large", plain)] {
                    let resource = try await coded(content, coding)
                    let path = "/\(name)-\(number).txt"
                    scene.origin.serve(path, .coded(resource, coding))
                    let task = try await scene.probe.wait(
                        for: try await scene.add(path, to: String(path.dropFirst()), ["checksum": content.checksum]),
                        "completed")
                    #expect(content.matches(scene.file(String(path.dropFirst()))), "\(coding) \(task)")
                    #expect(scene.origin.requests(path).map { $0.header("Accept-Encoding") } == ["identity"])
                }
            }
            #expect(scene.names.count == 2 * Self.codings.count, "\(scene.names)")
        }

        /// Servers that know files by their extensions call a `.tar.gz` both a gzip file and coded with gzip.
        @Test(.timeLimit(.minutes(1)), arguments: [("gzip", "x-gzip"), ("x-gzip", "gzip"), ("zstd", "zstd")])
        func aPackedFileStaysPacked(type: String, coding: String) async throws {
            let scene = try await Scene.shared()
            var packed = try await coded(plain, coding == "zstd" ? "zstd" : "gzip")
            packed.contentType = "application/\(type)"
            scene.origin.serve(
                "/get", .coded(packed, coding, cutAfter: packed.content.size / 2), .coded(packed, coding))
            let id = try await scene.add("/get", to: "backup", ["checksum": packed.content.checksum])
            try await scene.probe.wait(for: id, "completed")
            #expect(packed.content.matches(scene.file("backup")))
            #expect(scene.names == ["backup"])
            let asked = try await ask(scene, "/get")
            try await scene.probe.wait(for: asked, "completed")
            #expect(Content(bytes: try await body(scene, asked)) == packed.content)
        }

        /// The held bytes are coded bytes. The download resumes where they end if a strong ETag vouches for them.
        @Test(.timeLimit(.minutes(2)), arguments: ["gzip", "br", "zstd"], [true, false])
        func aDaemonKilledInACodedBodyDeliversAllOfItOrNothing(coding: String, hasValidator: Bool) async throws {
            var scene = try await Scene()
            let content = Content(bytes: Packing.text(6 << 20))
            var resource = try await coded(content, coding)
            if !hasValidator { resource.etag = nil }
            let size = resource.content.size
            let named = resource.with("Content-Encoding", coding)
            scene.origin.serve("/file", .stalling(named, at: size / 2, rate: size), .good(named))
            let id = try await scene.add("/file", to: "file", ["checksum": content.checksum])
            try await scene.probe.wait(for: id, bytes: size / 3)
            #expect(!Files.exists(scene.file()))
            scene = try await scene.restarted()
            let task = try await scene.probe.wait(for: id, "completed")
            #expect(content.matches(scene.file()), "\(task)")
            #expect(scene.names == ["file"])
            #expect((scene.origin.requests("/file").last?.rangeStart ?? 0 > 0) == hasValidator)
        }

        // MARK: A real server

        @Test(.timeLimit(.minutes(1)), .enabled(if: Requirements.has("nginx")))
        func nginxCodesForDataTasksAlone() async throws {
            let server = try await Nginx.start(extra: "gzip on; gzip_min_length 1; gzip_types *;")
            try server.publish("page", plain)
            let scene = try await Scene.shared()
            let asked = try await scene.probe.add([["kind": "data", "url": .string(server.url("page"))]])[0]
            let task = try await scene.probe.wait(for: asked, "completed")
            #expect(task["response", "headers"]?.arrayValue?.contains(["Content-Encoding", "gzip"]) == true, "\(task)")
            #expect(Content(bytes: try await body(scene, asked)) == plain)
            let added = try await scene.probe.add(server.url("page"), to: scene.file(), Scene.quickRetry)
            let download = try await scene.probe.wait(for: added, "completed")
            #expect(download["response", "headers"]?.arrayValue?.contains(["Content-Encoding", "gzip"]) == false)
            #expect(plain.matches(scene.file()))
        }
    }
}
