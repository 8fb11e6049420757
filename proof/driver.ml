(* Reads certificates, one to a line, and writes what the extracted checkers say to each: two digits,
   "legal" and "accepted".  A line is a word and whole numbers; see tests/checkers.py.  A recorded
   round is answered by what the model makes of it, and the residuals after it. *)

open Checkers

let rec positive n =
  if n = 1 then XH else if n land 1 = 1 then XI (positive (n lsr 1)) else XO (positive (n lsr 1))

let z n = if n = 0 then Z0 else if n > 0 then Zpos (positive n) else Zneg (positive (-n))

let rec number = function
  | XH -> 1
  | XO p -> 2 * number p
  | XI p -> 2 * number p + 1

let whole = function Z0 -> 0 | Zpos p -> number p | Zneg p -> -number p

let numbers = ref []

let next () =
  match !numbers with
  | [] -> failwith "a line is too short"
  | n :: rest -> numbers := rest; n

let several count read = Array.init count (fun _ -> read ())
let listed read = Array.to_list (several (next ()) read)
let edge () = let u = next () in let v = next () in (u, v)
let by array index = array.(index)

let matching () =
  let edges = listed edge in
  let pairs = listed edge in
  let left = listed next in
  let right = listed next in
  (is_matching edges pairs, check_matching edges pairs left right)

(* An arc is its sender, receiver, capacity, flow and cost. *)
let network () =
  let nodes = next () in
  let pairs = next () in
  let source = next () in
  let sink = next () in
  let arcs = several (2 * pairs) (fun () -> several 5 next) in
  let column place = by (Array.map (fun arc -> arc.(place)) arcs) in
  let exact place = by (Array.map (fun arc -> z arc.(place)) arcs) in
  let net =
    { nodes; pairs; source; sink; sender = column 0; receiver = column 1; capacity = exact 2 }
  in
  (net, exact 3, exact 4)

let flow () =
  let net, flow, _ = network () in
  let side = several net.nodes next in
  (is_legal net flow, check_cut net flow (fun v -> side.(v) = 1))

let prices () =
  let net, flow, cost = network () in
  let price = Array.map z (several net.nodes next) in
  let legal = is_legal net flow in
  (legal, legal && check_prices net cost flow (by price))

let assignment () =
  let rows = listed (fun () -> let e = edge () in (e, z (next ()))) in
  let edges = List.map fst rows in
  let pairs = listed edge in
  let at_source = z (next ()) in
  let left = several (next ()) (fun () -> z (next ())) in
  let right = several (next ()) (fun () -> z (next ())) in
  let at_sink = z (next ()) in
  let all side = List.init (Array.length side) (fun node -> node) in
  let costs = Hashtbl.create 16 in
  List.iter (fun (e, c) -> Hashtbl.replace costs e c) rows;
  let legal = is_matching edges pairs in
  ( legal,
    check_assignment edges (Hashtbl.find costs) (all left) (all right) pairs at_source (by left)
      (by right) at_sink )

let both check () =
  let legal, accepted = check () in
  let digit b = if b then "1" else "0" in
  digit legal ^ digit accepted

(* Of an arc the residual stands in the place of the flow, the weight in that of the cost. *)
let round () =
  let width = next () in
  let net, residual, weight = network () in
  let states =
    listed (fun () ->
        let bits = several net.nodes next in
        let links = several net.nodes next in
        { reached = (fun v -> bits.(v) = 1);
          link = (fun v -> if links.(v) < 0 then None else Some links.(v)) })
  in
  match replayed net shipped_table width residual (fun a -> whole (weight a)) states with
  | None -> "not allowed"
  | Some (Done _) -> "done"
  | Some Wrong -> "wrong"
  | Some (Applied (path, amount)) ->
      let after = push residual path amount in
      let told = List.map string_of_int in
      String.concat " "
        (told path @ [ ":"; string_of_int (whole amount); ":" ]
        @ told (List.init (2 * net.pairs) (fun a -> whole (after a))))

let () =
  try
    while true do
      match String.split_on_char ' ' (input_line stdin) with
      | [] -> ()
      | word :: rest ->
          numbers := List.map int_of_string rest;
          let check =
            List.assoc word
              [ ("matching", both matching); ("flow", both flow); ("prices", both prices);
                ("assignment", both assignment); ("round", round) ]
          in
          print_endline (check ())
    done
  with End_of_file -> ()
