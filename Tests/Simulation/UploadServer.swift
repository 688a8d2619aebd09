import CSimulation
import FileKit
import TestSupport
import TransferCore
import TransferModel

/// Simulated servers that accept uploads and short requests, as far as a daemon can see them.
final class UploadServer {
    private unowned let world: World
    private(set) var targets: [String: UploadTarget] = [:]
    /// The requests whose connections are open.
    private var running: [Delivery] = []

    init(_ world: World) { self.world = world }

    func add(_ target: UploadTarget) { targets[target.name] = target }

    /// Returns the target of a URL, and the number of the upload that it names.
    func place(of url: String) -> (target: UploadTarget, upload: Int?)? {
        let parts = url.split(separator: "/")
        // The signature of S3 is in the query.
        guard parts.count >= 4, parts[2] == "u", let target = targets[String(parts[3].prefix { $0 != "?" })]
        else { return nil }
        return (target, parts.count > 4 ? Int(parts[4]) : nil)
    }

    /// The header of a request arrives.
    func begin(_ exchange: Exchange, length: Int) -> Delivery? {
        guard let (target, number) = place(of: exchange.url) else { return nil }
        let delivery = Delivery(world, exchange, target, number, length: length)
        running.append(delivery)
        return delivery
    }

    func ended(_ delivery: Delivery) { running.removeAll { $0 === delivery } }

    /// The daemon died, and its connections with it.
    func disconnect() {
        for delivery in running { delivery.cut() }
        running = []
        for target in targets.values { target.s3?.daemonDied() }
    }

    /// Sometimes a server forgets an unfinished upload, or the fact that it has ended.
    func forgetSomething(at url: String) {
        guard let (target, number) = place(of: url) else { return }
        target.s3?.forgetSomething()
        guard let number, number < target.uploads.count else { return }
        let upload = target.uploads[number]
        guard !upload.isLost, !upload.isEnded, !upload.isBusy else { return }
        if world.random.chance(400) || upload.isComplete {
            upload.isLost = true
            world.note("\(url) is lost")
        } else {
            upload.bytes.removeLast(world.random.below(upload.bytes.count + 1))
        }
    }
}

/// The answer of a simulated server.
struct ServerAnswer {
    var status: Int
    var headers: [HeaderField] = []
    var body: [UInt8] = []

    init(_ status: Int, _ fields: [(String, String)] = [], body: [UInt8] = []) {
        self.status = status
        headers = fields.map { HeaderField($0.0, $0.1) }
        self.body = body
    }
}
