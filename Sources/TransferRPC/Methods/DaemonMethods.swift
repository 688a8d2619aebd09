import TransferModel

public struct DaemonInfo: WireObject, Hashable {
    public var name: String
    public var version: String
    public var `protocol`: Int
    public var pid: Int32
    public var uid: UserID
    public var mode: DaemonMode
    public var administrator: Bool?
    public var socket: String
    public var sockets: [String]?
    public var stateDirectory: String
    public var userDirectory: String?
    public var startedAt: Timestamp
    public var libcurl: String
    public var sqlite: String
    public var schemes: [String]?
    public var features: [String]
    public var damage: String?

    public init(
        name: String, version: String, protocol: Int, pid: Int32, uid: UserID, mode: DaemonMode,
        administrator: Bool? = nil, socket: String, sockets: [String]? = nil, stateDirectory: String,
        userDirectory: String? = nil, startedAt: Timestamp,
        libcurl: String, sqlite: String, schemes: [String]? = nil, features: [String], damage: String? = nil
    ) {
        self.name = name
        self.version = version
        self.protocol = `protocol`
        self.pid = pid
        self.uid = uid
        self.mode = mode
        self.administrator = administrator
        self.socket = socket
        self.sockets = sockets
        self.stateDirectory = stateDirectory
        self.userDirectory = userDirectory
        self.startedAt = startedAt
        self.libcurl = libcurl
        self.sqlite = sqlite
        self.schemes = schemes
        self.features = features
        self.damage = damage
    }

    public static let shape = Shape(
        "Info",
        Self(
            name: "", version: "", protocol: 0, pid: 0, uid: UserID(0), mode: .user, socket: "", stateDirectory: "",
            startedAt: Timestamp(milliseconds: 0), libcurl: "", sqlite: "", features: [])
    ) { row in
        row("name", \.name, "`dld`.")
        row("version", \.version, "Version of the program.")
        row("protocol", \.protocol, "Version of this protocol: 1.")
        row("pid", \.pid, "Process id.", as: .integer)
        row("uid", \.uid, "User the daemon runs as.")
        row("mode", \.mode, "One daemon for one user, or one for the system.")
        row(
            "administrator", \.administrator,
            "System daemon: whether the caller is an administrator, who sees all users' tasks and changes settings."
        )
        row("socket", \.socket, "Path of the socket; if there are several, the best-known one.")
        row("sockets", \.sockets, "Paths of all sockets on which the daemon listens now.")
        row("stateDirectory", \.stateDirectory, "Folder of the store.")
        row(
            "userDirectory", \.userDirectory,
            "System daemon: the caller's own folder. Tasks can name only files in it, and downloads without a folder go there. This call creates it if necessary."
        )
        row("startedAt", \.startedAt, "When the daemon started.")
        row("libcurl", \.libcurl, "Version of libcurl.")
        row("sqlite", \.sqlite, "Version of SQLite.")
        row(
            "schemes", \.schemes,
            "Schemes of URLs that a helper serves (docs/helpers.md), beside those that dld speaks.")
        row("features", \.features, "Names of supported features; see Features.")
        row("damage", \.damage, "The state database is damaged: where, and what to do.")
    }
}

/// Whether one daemon serves its own user or every user of the system.
public enum DaemonMode: String, Word {
    case user, system
}

public struct DaemonStats: WireObject, Hashable {
    public var tasks: [String: Int]
    public var activeTransfers: Int
    public var downloadRate: ByteRate
    public var uploadRate: ByteRate
    public var bytesReceived: ByteCount
    public var bytesSent: ByteCount
    public var memory: ByteCount
    public var connections: Int
    public var head: SequenceNumber
    public var uptime: Seconds
    public var damage: String?
    public var isMetered: Bool?
    public var isCellular: Bool?
    public var isBehindPortal: Bool?
    public var isOnBattery: Bool?

    public init(
        tasks: [String: Int], activeTransfers: Int, downloadRate: ByteRate, uploadRate: ByteRate,
        bytesReceived: ByteCount, bytesSent: ByteCount, memory: ByteCount, connections: Int, head: SequenceNumber,
        uptime: Seconds, damage: String? = nil
    ) {
        self.tasks = tasks
        self.activeTransfers = activeTransfers
        self.downloadRate = downloadRate
        self.uploadRate = uploadRate
        self.bytesReceived = bytesReceived
        self.bytesSent = bytesSent
        self.memory = memory
        self.connections = connections
        self.head = head
        self.uptime = uptime
        self.damage = damage
    }

    public static let shape = Shape(
        "Stats",
        Self(
            tasks: [:], activeTransfers: 0, downloadRate: 0, uploadRate: 0, bytesReceived: 0, bytesSent: 0,
            memory: 0, connections: 0, head: .zero, uptime: 0)
    ) { row in
        row(
            "tasks", \.tasks,
            "Number of tasks in each state, every state present; of the volatile ones only this connection's.")
        row("activeTransfers", \.activeTransfers, "Transfers of these tasks that run now.")
        row("downloadRate", \.downloadRate, "Bytes per second received, over the last second.", as: .number)
        row("uploadRate", \.uploadRate, "Bytes per second sent, over the last second.", as: .number)
        row("bytesReceived", \.bytesReceived, "Received since the daemon started.")
        row("bytesSent", \.bytesSent, "Sent since the daemon started.")
        row("memory", \.memory, "Resident memory.")
        row("connections", \.connections, "Open connections of clients.")
        row("head", \.head, "Sequence number of the newest stored event; 0 = none yet.")
        row("uptime", \.uptime, "Since the daemon started.")
        row("damage", \.damage, "The state database is damaged: where, and what to do.")
        row("isMetered", \.isMetered, "NetworkManager says that the network is, or may be, metered; absent: unknown.")
        row("isCellular", \.isCellular, "NetworkManager says that the network is cellular; absent: unknown.")
        row(
            "isBehindPortal", \.isBehindPortal,
            "NetworkManager says that the network shows a login page; absent: unknown.")
        row("isOnBattery", \.isOnBattery, "UPower says that the machine runs on battery; absent: unknown.")
    }
}

public struct OpenRPCDocument: WireObject, Hashable {
    public var openrpc: String
    public var info: JSONValue
    public var methods: JSONValue
    public var components: JSONValue

    public init(openrpc: String, info: JSONValue, methods: JSONValue, components: JSONValue) {
        self.openrpc = openrpc
        self.info = info
        self.methods = methods
        self.components = components
    }

    public static let shape = Shape(
        "OpenRPCDocument", Self(openrpc: "", info: .null, methods: .null, components: .null)
    ) { row in
        row("openrpc", \.openrpc, "Version of the OpenRPC format.")
        row("info", \.info, "Title and version.")
        row("methods", \.methods, "Every method with parameters, result and errors.", as: .list(.any))
        row("components", \.components, "Schemas of the objects.")
    }
}
