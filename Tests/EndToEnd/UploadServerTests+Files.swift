import Glibc
import TestSupport
import Testing
import TransferModel

extension EndToEnd.Uploading.UploadServers {
    /// FTP and SFTP: the size of the file at the server shows where to resume, if the file is ours and the source has
    /// not changed.
    struct FileServers {
        enum Kind: String, CaseIterable {
            case ftp, ftps, sftp
        }

        /// A running server of one kind, and a daemon that knows it.
        private struct Setting {
            let scene: Scene
            let url: String
            /// Where the uploaded file appears.
            let path: String
            var more: [String: JSONValue] = [:]
            /// Ends with the setting.
            let server: ServerProcess
            /// Holds uploads to `heldURL`.
            let relay: UploadRelay
            let heldURL: String

            init(_ kind: Kind) async throws {
                switch kind {
                case .ftp, .ftps:
                    let server = try await FTPServer.start(tls: kind == .ftps, dataPorts: 5)
                    scene = try await Scene()
                    url = server.url("incoming/file")
                    heldURL = server.url("incoming/file", host: UploadRelay.host)
                    let path = server.folder.file("www/incoming/file")
                    self.path = path
                    relay = try UploadRelay(to: server.ports) { Self.size(path) }
                    if let authority = server.certificates?.authority { more["caFile"] = .string(authority) }
                    self.server = server
                case .sftp:
                    let server = try await SFTPServer.start()
                    scene = try await Scene(environment: ["HOME": server.home])
                    url = server.url("file")
                    heldURL = server.url("file", host: UploadRelay.host)
                    let path = server.folder.file("www/file")
                    self.path = path
                    relay = try UploadRelay(to: [server.port]) { Self.size(path) }
                    self.server = server
                }
            }

            var size: Int { Self.size(path) }

            private static func size(_ path: String) -> Int { Int(Files.status(path)?.st_size ?? 0) }

            /// Puts another user's file under the name.
            func occupy(_ content: Content) throws {
                try Files.write(path, content.bytes)
                // This is the user of vsftpd's anonymous clients.
                if let entry = getpwnam("daemon") { chown(path, entry.pointee.pw_uid, entry.pointee.pw_gid) }
            }
        }

        private static let isPossible =
            Requirements.isRoot && Requirements.has("vsftpd", "sshd", "ssh-keygen", "openssl")
        private let content = Content(seed: 52, size: 8 << 20)

        @Test(.timeLimit(.minutes(1)), .enabled(if: isPossible), arguments: Kind.allCases)
        func aKilledUploadGoesOnWhereTheServerIs(kind: Kind) async throws {
            let setting = try await Setting(kind)
            setting.relay.hold(.files(4 << 20))
            let id = try await setting.scene.upload(content, to: setting.heldURL, setting.more)
            try #require(await eventually { setting.size > 2 << 20 })
            let held = setting.size
            let scene = try await setting.scene.restarted()
            setting.relay.release()
            let task = try await scene.probe.wait(for: id, "completed")
            #expect(content.matches(setting.path))
            #expect(task["bytesSent"]?.integerValue == Int64(content.size))
            let offset = try #require(try await scene.resumptions(id).last)
            #expect((held..<content.size).contains(offset))
        }

        @Test(.timeLimit(.minutes(1)), .enabled(if: isPossible), arguments: Kind.allCases)
        func aFolderGetsTheFileUnderItsName(kind: Kind) async throws {
            let setting = try await Setting(kind)
            let folder = String(setting.url.dropLast("file".count))
            let id = try await setting.scene.upload(content, to: folder, setting.more, from: "the source")
            let task = try await setting.scene.probe.wait(for: id, "completed")
            #expect(task["attempts"] == 1)
            #expect(content.matches(String(setting.path.dropLast("file".count)) + "the source"))
            // An invalid name cannot go there: the refusal comes at once, not after attempts.
            await #expect {
                _ = try await setting.scene.upload(
                    content, to: folder, setting.more.merging(["fileName": "a/b"]) { $1 })
            } throws: { error in
                (error as? RPCFailure)?.code == "request.bad_field"
            }
        }

        @Test(.timeLimit(.minutes(1)), .enabled(if: isPossible), arguments: Kind.allCases)
        func aSourceThatChangedMeanwhileIsNotAppended(kind: Kind) async throws {
            let setting = try await Setting(kind)
            setting.relay.hold(.files(4 << 20))
            let id = try await setting.scene.upload(content, to: setting.heldURL, setting.more)
            try #require(await eventually { setting.size > 1 << 20 })
            try await setting.scene.daemon.kill()
            // What the socket held may still arrive.
            var held = -1
            let isSettled = await eventually(every: 0.1) {
                defer { held = setting.size }
                return held == setting.size
            }
            #expect(isSettled)
            setting.relay.release()
            try Files.write(setting.scene.file("source"), Content(seed: 53, size: content.size).bytes)
            try await setting.scene.daemon.start()
            let task = try await setting.scene.daemon.probe().wait(for: id, "failed")
            #expect(task.errorCode == "source.changed")
            #expect(setting.size == held)
            #expect(content.begins(with: setting.path))
        }

        @Test(.timeLimit(.minutes(1)), .enabled(if: isPossible), arguments: Kind.allCases)
        func aFileThatWasThereIsReplacedWhole(kind: Kind) async throws {
            let setting = try await Setting(kind)
            // A shorter file could be continued, one of the same length could be taken for ours, and a longer one would
            // keep its end.
            for size in [content.size / 2, content.size, content.size + (1 << 20)] {
                try setting.occupy(Content(seed: 54, size: size))
                let id = try await setting.scene.upload(content, to: setting.url, setting.more)
                try await setting.scene.probe.wait(for: id, "completed")
                #expect(content.matches(setting.path), "there were \(size) bytes")
                #expect(try await setting.scene.resumptions(id).isEmpty)
            }
        }
    }
}
