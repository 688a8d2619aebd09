import Foundation
import TestSupport
import Testing
import Threading
import TransferNetworking

extension TransferNetworkingSuite {
    @Suite struct FileTaskTests {
        private let resource = Resource.version(3, size: 2_000_000)

        @Test func aDownloadIsThereUntilItsDelegateReturns() async throws {
            let scene = try await LibraryScene()
            scene.origin.serve("/a", .good(resource))
            let recorder = Recorder()
            let task = scene.session(.ephemeral, recorder).downloadTask(with: try scene.url("/a"))
            task.resume()
            #expect(await recorder.wait(for: "complete"))
            #expect(recorder.lines == ["created", "file", "metrics", "complete 0"])
            #expect(recorder.holds(resource))
            #expect(task.countOfBytesReceived == 2_000_000)
            #expect(task.state == .completed)
        }

        @Test func resumeDataContinueTheDownload() async throws {
            let scene = try await LibraryScene()
            scene.origin.serve("/a", .good(resource, rate: 500_000), .good(resource))
            let recorder = Recorder()
            let session = scene.session(.ephemeral, recorder)
            let task = session.downloadTask(with: try scene.url("/a"))
            task.resume()
            #expect(await eventually(within: 20) { task.countOfBytesReceived > 300_000 })
            let data = try #require(await task.cancelByProducingResumeData())
            #expect(await recorder.wait(for: "complete -999"))
            #expect(recorder.seen.error?.downloadTaskResumeData == data)
            let again = session.downloadTask(withResumeData: data)
            #expect(again.originalRequest?.url == task.originalRequest?.url)
            again.resume()
            #expect(await recorder.wait(for: "complete 0"))
            #expect(recorder.lines.contains { $0.hasPrefix("resumed") })
            #expect(recorder.holds(resource))
        }

        @Test(arguments: [100, 1_500_000]) func uploadsSendDataAndFiles(_ size: Int) async throws {
            let scene = try await LibraryScene()
            let echo = Behaviour { request, reply in
                try reply.head(200, "OK", [("Content-Length", "\(request.body.count)")])
                try reply.body(request.body[...])
            }
            scene.origin.serve("/a", echo)
            var request = URLRequest(url: try scene.url("/a"))
            request.httpMethod = "PUT"
            let body = Data(Content(seed: 4, size: size).bytes)
            let session = scene.session()
            #expect(try await session.upload(for: request, from: body).0 == body)
            let folder = try TemporaryFolder()
            try body.write(to: URL(fileURLWithPath: folder.file("source")))
            #expect(
                try await session.upload(for: request, fromFile: URL(fileURLWithPath: folder.file("source"))).0 == body)
            request.httpBodyStream = InputStream(data: body)
            #expect(try await session.data(for: request).0 == body)
        }

        @Test func suspendedTasksWait() async throws {
            let scene = try await LibraryScene()
            scene.origin.serve("/a", .good(resource, rate: 400_000))
            let recorder = Recorder()
            let task = scene.session(.ephemeral, recorder).downloadTask(with: try scene.url("/a"))
            #expect(task.state == .suspended)
            task.resume()
            #expect(await eventually(within: 20) { task.countOfBytesReceived > 100_000 })
            task.suspend()
            #expect(await eventually(within: 10) { task.isPausedInDaemon })
            #expect(task.state == .suspended)
            task.resume()
            #expect(await recorder.wait(for: "complete 0"))
            #expect(recorder.holds(resource))
            let ranges = scene.origin.requests("/a").map { $0.header("Range") }
            #expect(ranges.count == 2 && ranges.first == .some(nil) && ranges.last != .some(nil))
        }
    }
}
