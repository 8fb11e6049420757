// Flow networks of any sizes side by side become maximum flows, and each is proven; see problem.cuh.
//
//   push   → residuals, the source's side of a cut, and rounds: the phases of flows.py, same paths
//   prove  capacities, residuals and sides as they are → the value of each flow, and whether it is
//          legal and the cut has the same capacity: nothing else of `push` is believed
//
// A search is shared by the LANES of a network, at most a warp. So is each step of a path: lanes look
// at the node's next arcs together, and the lowest that leads nearer is taken. A network is held in
// shared memory, arcs by their senders; its arcs are numbered from 0, and arc ^ 1 is the reverse.

typedef unsigned short number_of;  // of a node or arc: a block's memory holds fewer than 2^16

// All of them, and what is found; see `Networks` in cuda_flows.py. Nodes and arcs count from the
// first network on, those of network g are node_start[g] : node_start[g + 1], and so on.
struct Networks {
    const wide* capacity;      // (arc,)
    const wide* order_start;   // (node + 1,): where the arcs of each node start in `order`
    const wide *node_start, *arc_start;  // (network + 1,)
    const wide *source, *sink;           // (network,)
    const int* receiver;       // (arc,): the sender is the receiver of arc ^ 1
    const int* order;          // (arc,): sorted by sender
    const int* chosen;         // (some network,): whom `push` is launched for
    wide* residual;            // (arc,)
    wide* value;               // (network, 2): the low 32 bits, and the rest, which is signed
    int* rounds;               // (network,)
    unsigned char* in_cut;     // (node,)
    unsigned char* is_proven;  // (network,)
    wide num_networks;         // of this launch
    wide room;                 // bytes of shared memory for each
};

template <class T> __device__ inline T least(T own) {
    for (int step = LANES / 2; step; step /= 2) own = min(own, __shfl_xor_sync(mask, own, step));
    return own;
}
template <class T> __device__ inline T total(T own) {
    for (int step = LANES / 2; step; step /= 2) own += __shfl_xor_sync(mask, own, step);
    return own;
}

struct Network {
    wide* residual;  // (arc,)
    int* level;      // (node,): steps from where a search began, NONE for not reached
    int* found;      // how many nodes were reached
    number_of *order, *head;   // (place,): arcs by senders, and where they lead
    number_of *start;          // (node + 1,): the places of a node's arcs
    number_of *current;        // (node,): no arc before this place leads nearer
    number_of *queue;          // nodes by level during a search; then those of a path
    int num_nodes, num_arcs, lane;

    __device__ Network(wide* memory, int num_nodes, int num_arcs, int lane)
        : residual(memory), num_nodes(num_nodes), num_arcs(num_arcs), lane(lane) {
        level = (int*)(residual + num_arcs), found = level + num_nodes;
        order = (number_of*)(found + 1), head = order + num_arcs, start = head + num_arcs;
        current = start + num_nodes + 1, queue = current + num_nodes;
    }
    __device__ void load(const Networks& all, wide first_node, wide first_arc) const {
        for (int arc = lane; arc < num_arcs; arc += LANES) {
            const int there = all.order[first_arc + arc];
            residual[arc] = all.capacity[first_arc + arc];
            order[arc] = (number_of)(there - first_arc);
            head[arc] = (number_of)(all.receiver[there] - first_node);
        }
        for (int node = lane; node <= num_nodes; node += LANES)
            start[node] = (number_of)(all.order_start[first_node + node] - first_arc);
        meet();
    }
    __device__ void visit(int place, int reversed, int farther) const {
        const int other = head[place];
        if (glance(level[other]) == NONE && residual[order[place] ^ reversed] > 0
            && atomicCAS(&level[other], (int)NONE, farther) == NONE)
            queue[atomicAdd(found, 1)] = (number_of)other;
    }
    // Set the levels of what `root` reaches, or with `reversed` of what reaches it; no farther than
    // the goal, if there is one. Say if that is reached.
    __device__ bool search(int root, int reversed, int goal) const {
        for (int node = lane; node < num_nodes; node += LANES) {
            level[node] = node == root ? 0 : NONE;
            current[node] = start[node];
        }
        if (lane == 0) queue[0] = (number_of)root, *found = 1;
        meet();
        for (int done = 0, end = 1, farther = 1; done < end; ++farther) {
            for (int from = done; from < end; from += LANES) {
                const bool has_one = from + lane < end;
                const int node = has_one ? queue[from + lane] : 0;
                const int place = has_one ? start[node] : 0, last = has_one ? start[node + 1] : 0;
                // A lane follows the arcs of its own node, but if there are many, all lanes do.
                const bool has_many = last - place >= LANES;
                for (bits many = asked(has_many); many; many &= many - 1) {
                    const int who = __ffs((int)many) - 1, until = told_by(last, who);
                    for (int k = told_by(place, who) + lane; k < until; k += LANES)
                        visit(k, reversed, farther);
                }
                if (!has_many)
                    for (int k = place; k < last; ++k) visit(k, reversed, farther);
            }
            meet();
            done = end, end = *found;
            if (goal != NONE && level[goal] != NONE) return true;
            meet();  // all have read how many, before one finds more
        }
        return false;
    }
    __device__ int arc_after(int step) const { return order[current[queue[step]]]; }
    // Send what it can along a path of so many arcs; return the first of them that is full.
    __device__ int fill(int length) const {
        wide amount = (wide)(~0ull >> 1);
        for (int step = lane; step < length; step += LANES)
            amount = min(amount, residual[arc_after(step)]);
        amount = least(amount);
        int full = length;
        for (int step = lane; step < length; step += LANES) {
            const int arc = arc_after(step);
            residual[arc ^ 1] += amount;
            residual[arc] -= amount;
            if (!residual[arc]) full = min(full, step);
        }
        return least(full);
    }
    // Fill paths on which each arc leads one level nearer, lowest arcs first, until none is left. The
    // place of a path's node is its current one.
    __device__ void take_paths(int source, int sink) const {
        const int height = level[source];
        int node = source, length = 0;
        while (true) {
            const int nearer = height - length - 1, end = start[node + 1];
            int place = current[node], other = 0;
            bits leads_on = 0;
            meet();  // all have read the place, before one sets it anew
            for (; place < end; place += LANES) {
                const int own = place + lane;
                other = own < end ? head[own] : 0;
                leads_on = asked(own < end && level[other] == nearer && residual[order[own]] > 0);
                if (leads_on) break;
            }
            if (leads_on) {
                const int who = __ffs((int)leads_on) - 1;
                if (lane == 0) current[node] = (number_of)(place + who), queue[length] = (number_of)node;
                node = told_by(other, who);
                ++length;
                if (node == sink) {
                    meet();
                    length = fill(length);
                    node = queue[length];
                }
            } else {
                if (length == 0) {
                    meet();  // all have read the place, before a search sets it anew
                    return;
                }
                if (lane == 0) current[node] = (number_of)end;
                node = queue[--length];
                if (lane == 0) current[node] += 1;
            }
            meet();
        }
    }
};

extern "C" __global__ void __launch_bounds__(THREADS) push(const Networks all) {
    MEMORY
    const int group = threadIdx.x / LANES, lane = threadIdx.x % LANES;
    const wide turn = (wide)blockIdx.x * GROUPS + group;
    if (turn >= all.num_networks) return;
    const int graph = all.chosen[turn];
    const wide first_node = all.node_start[graph], first_arc = all.arc_start[graph];
    const int num_nodes = (int)(all.node_start[graph + 1] - first_node);
    const int num_arcs = (int)(all.arc_start[graph + 1] - first_arc);
    const int source = (int)(all.source[graph] - first_node), sink = (int)(all.sink[graph] - first_node);
    const Network own(memory + group * (all.room / 8), num_nodes, num_arcs, lane);
    own.load(all, first_node, first_arc);
    int rounds = 0;
    for (; own.search(sink, 1, source); ++rounds) own.take_paths(source, sink);
    meet();
    own.search(source, 0, NONE);
    for (int arc = lane; arc < num_arcs; arc += LANES)
        all.residual[first_arc + arc] = own.residual[arc];
    for (int node = lane; node < num_nodes; node += LANES)
        all.in_cut[first_node + node] = own.level[node] != NONE;
    if (lane == 0) all.rounds[graph] = rounds;
}

// A sum of 64-bit numbers that may itself be beyond them: the low 32 bits, and the rest.
struct Sum {
    wide low = 0, high = 0;
    __device__ void add(wide amount) { low += amount & 0xffffffffll, high += amount >> 32; }
    __device__ void settle() { high += low >> 32, low &= 0xffffffffll; }
    __device__ void join() { low = total(low), high = total(high), settle(); }
};

extern "C" __global__ void __launch_bounds__(THREADS) prove(const Networks all) {
    const int group = threadIdx.x / LANES, lane = threadIdx.x % LANES;
    const wide graph = (wide)blockIdx.x * GROUPS + group;
    if (graph >= all.num_networks) return;
    const wide source = all.source[graph], sink = all.sink[graph];
    bool is_legal = all.in_cut[source] && !all.in_cut[sink];
    Sum cut, value;
    for (wide arc = all.arc_start[graph] + lane; arc < all.arc_start[graph + 1]; arc += LANES) {
        typedef unsigned long long natural;
        const natural sent = (natural)all.capacity[arc] - (natural)all.residual[arc];
        const natural back = (natural)all.capacity[arc ^ 1] - (natural)all.residual[arc ^ 1];
        is_legal &= all.residual[arc] >= 0 && sent + back == 0;
        if (all.in_cut[all.receiver[arc ^ 1]] && !all.in_cut[all.receiver[arc]])
            cut.add(all.capacity[arc]);
    }
    for (wide node = all.node_start[graph] + lane; node < all.node_start[graph + 1]; node += LANES) {
        Sum leaves;
        for (wide place = all.order_start[node]; place < all.order_start[node + 1]; ++place) {
            const int arc = all.order[place];
            leaves.add(all.capacity[arc] - all.residual[arc]);
        }
        leaves.settle();
        if (node == source) value = leaves;
        else is_legal &= node == sink || (leaves.low == 0 && leaves.high == 0);
    }
    cut.join(), value.join();
    const bool is_proven = asked(!is_legal) == 0 && cut.low == value.low && cut.high == value.high;
    if (lane) return;
    all.value[2 * graph] = value.low, all.value[2 * graph + 1] = value.high;
    all.is_proven[graph] = is_proven;
}
